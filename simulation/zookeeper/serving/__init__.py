"""Serving clients: connections, sessions, and the pipeline of requests."""
