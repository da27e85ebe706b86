"""Clients of a Chubby cell (``recipes.chubby``)."""
