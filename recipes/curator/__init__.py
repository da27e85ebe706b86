"""Curator's recipes, which clients in Java use: what they promise, and where they queue."""
