"""Serving clients: connections, sessions, and the chain of request processors."""
