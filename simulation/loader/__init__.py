"""Private copies of Python modules for each simulated process, on simulated primitives."""
