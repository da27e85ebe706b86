"""The error of a server that does not start."""


class StartupRefused(Exception):  # noqa: N818 - says what happens
    """ZooKeeper exits at its start because of the files on the disk."""
