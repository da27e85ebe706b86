"""The tree of znodes: nodes, watches, access control, and transactions."""
