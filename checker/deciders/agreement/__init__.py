"""Deciders of barriers, elections, tokens, ids and commits."""
