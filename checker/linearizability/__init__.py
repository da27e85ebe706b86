"""Linearizability with regard to any model, by a search."""
