"""Recipes with one known mistake each, which the harness must find: a module a family.

Each is a sound recipe with a single step replaced, promises what the sound one promises, and says
what its mistake is (``mistake``) and which anomalies give it away (``expected``).
"""
