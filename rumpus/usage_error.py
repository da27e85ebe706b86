"""The error for what a user asked for and what does not exist or cannot be done."""


class UsageError(Exception):
    """Its message is printed without a traceback, and the exit code is 2."""
