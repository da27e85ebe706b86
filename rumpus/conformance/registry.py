"""The numbered checks of what a ZooKeeper 3.8.0 server does, and running them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Needs = Literal["server", "files", "ensemble"]


class Inapplicable(Exception):  # noqa: N818 - says what the check is
    """What the check looks at cannot be seen in this deployment; the message says why."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        number: from 1 on, without gaps.
        text: what holds of a real server.
        needs: "server": any standalone server that can be reached (the first check: a fresh
            one); "files": control of a standalone server and its files; "ensemble": control of
            three servers.
        slow: it takes more than a few seconds of real time.
        run: raises AssertionError if it does not hold.
    """

    number: int
    text: str
    needs: Needs
    slow: bool
    run: Callable[[Any], None]

    def __str__(self) -> str:
        return f"{self.number:3}  {self.text}"


CHECKS: dict[int, Check] = {}


def check(
    number: int, text: str, *, needs: Needs = "server", slow: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Enter a function as the check of that number."""

    def enter(run: Callable[[Any], None]) -> Callable[[Any], None]:
        assert number not in CHECKS, f"two checks have number {number}"
        CHECKS[number] = Check(number, text, needs, slow, run)
        return run

    return enter


def same(found: Any, wanted: Any, what: str = "") -> None:
    """Assert equality and show both sides, also where no test runner rewrites asserts."""
    assert found == wanted, f"{what + ': ' if what else ''}{found!r}, not {wanted!r}"
