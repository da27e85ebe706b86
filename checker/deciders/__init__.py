"""Deciders: for each model the algorithms that decide whether a history follows it."""
