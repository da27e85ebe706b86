"""Recipes as documents print them, where the text is doubtful: mutants of the sound recipes.

Each performs the printed steps. What no text speaks of (lost replies, timeouts, taking the own node
away) is done as the sound recipe does it, so that a run shows the flaw of the text and no other.
``printed`` says in which document, by its letter in ``recipes.published.documents``, and where.
``docs/recipes/as-published.md`` has a page on each.
"""
