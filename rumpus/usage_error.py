"""What a user asked for does not exist or cannot be."""


class UsageError(Exception):
    """Said without a traceback; the command line exits with 2."""
