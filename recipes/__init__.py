"""Coordination recipes on kazoo, their promises, and the faulty ones the harness must catch."""
