"""Closes the books of a day; one worker at a time may do that, and PostgreSQL says which."""
