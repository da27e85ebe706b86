"""Checks of locks, elections and everything else that one client (or so many) may have at once."""
