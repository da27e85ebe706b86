"""Who does what next: pure generators, and the interpreter that asks them."""
