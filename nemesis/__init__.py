"""Faults (a class for each kind), plans that combine them, and the runner of plans."""
