"""The recipes of each family by name, the sound ones first: a module a family.

A module each, so that a client loads no other family's recipes.
"""
