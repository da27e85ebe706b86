"""Who held, believed and acted: locks, elections and all else that one client has at a time."""
