"""Faults: one class a kind, the plans that combine them, and what carries plans out."""
