"""Sequential models of objects, for the general search."""
