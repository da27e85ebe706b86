"""Which algorithm decides a model: near-linear ones where there are any, else a search."""
