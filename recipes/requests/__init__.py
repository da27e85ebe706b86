"""Requests that get through lost connections and sessions, and know what came of them."""
