"""What this program, or a team that uses it, has found, missed, and reported wrongly."""
