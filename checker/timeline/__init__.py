"""A run laid out once on one clock: what checks, story, pictures and figures read."""
