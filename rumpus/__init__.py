"""rumpus: correctness and chaos tests for coordination recipes on ZooKeeper."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Every process of a run imports this package, and looking up the version is slow.
    if name == "__version__":
        from rumpus.version import __version__  # noqa: PLC0415 - only when asked for

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
