"""Faults for trials of locks."""
