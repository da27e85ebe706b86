"""Znode paths."""


def absolute(path: str) -> str:
    """The path.

    Raises:
        ValueError: it is not an absolute znode path, or ends in a slash.
    """
    if not path.startswith("/") or path.endswith("/"):
        raise ValueError(f"{path!r} is not an absolute znode path such as /locks/printer")
    return path
