"""The store of nights: what all of them have seen, in one file."""
