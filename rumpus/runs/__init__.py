"""Putting a run together, and judging one."""
