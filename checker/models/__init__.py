"""Sequential objects, ready for the general search."""
