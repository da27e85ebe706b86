"""What the clients do: one file a recipe family."""
