"""Simulated modules of the standard library."""
