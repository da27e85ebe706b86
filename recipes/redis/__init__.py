"""Locks on Redis servers."""
