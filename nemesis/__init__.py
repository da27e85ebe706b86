"""What goes wrong: one file a kind of fault, and the plans that combine them."""
