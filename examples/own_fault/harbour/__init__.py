"""Assigns berths in a harbour: one ship at a time."""
