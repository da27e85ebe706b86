"""Deciders of registers, counters, sets and appended values."""
