"""What is better or worse in one night, version or branch than in another."""
