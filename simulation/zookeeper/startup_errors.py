"""Why a server does not start."""


class StartupRefused(Exception):  # noqa: N818 - says what happens
    """The files on the disk are such that ZooKeeper would end at once."""
