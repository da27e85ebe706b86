"""Requests that are retried over lost connections and sessions, and whose outcome is tracked."""
