"""The clients of a run: their processes, and the messages between them and the run."""
