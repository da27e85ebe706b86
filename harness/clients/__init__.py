"""The clients of a run: their processes, and what is said between them and the run."""
