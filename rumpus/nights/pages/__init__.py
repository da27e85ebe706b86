"""Pages about nights: HTML over the store, for those who were not there."""
