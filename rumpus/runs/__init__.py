"""Performing a run in Docker or in simulation, and judging it."""
