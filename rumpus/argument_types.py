"""What words of the command line may be: each refuses in words what is not."""

import argparse
from collections.abc import Callable
from typing import Final

JSON: Final = "one JSON document on standard output, and nothing else there"
RUNS: Final = "where runs are kept (default: runs)"


def count(least: int, most: int) -> Callable[[str], int]:
    """A whole number between two."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not from {least} to {most}")
        return number

    return parse


def seconds(least: float = 0.001, most: float = 10_000_000) -> Callable[[str], float]:
    """A time in seconds between two."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g} seconds")
        return number

    return parse


def name(text: str) -> str:
    """Anything but nothing.

    Raises:
        argparse.ArgumentTypeError: it is nothing.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text
