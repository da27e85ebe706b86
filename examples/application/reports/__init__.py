"""A service of which several run, and one works."""
