"""The tree of znodes: its nodes, watches, access control, and what changes it."""
