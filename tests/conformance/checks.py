"""All checks, and a command that tries them on any server.

``python -m tests.conformance.checks HOST:PORT [--only 1-30]`` tries those that need nothing but
a standalone server that can be reached: one line a check.
"""

import argparse
import sys
from collections.abc import Iterator

from tests.conformance import (
    checks_access,
    checks_ensemble,
    checks_files,
    checks_handshake,
    checks_multi,
    checks_sessions,
    checks_validation,
    checks_watches,
    checks_words,
)
from tests.conformance.channel import RealClock, SocketChannel
from tests.conformance.registry import CHECKS, Check, Inapplicable
from tests.conformance.visit import Visit

MODULES = (
    checks_handshake,
    checks_validation,
    checks_access,
    checks_multi,
    checks_watches,
    checks_sessions,
    checks_words,
    checks_files,
    checks_ensemble,
)
"""In the order of their numbers; importing them fills the registry."""


PROPERTIES = {82: {"extendedTypesEnabled": "true"}}
"""System properties that some checks need; all others are for the defaults."""


class RemoteServer:
    """A server that we can only talk to."""

    nodes = ("n1",)

    def __init__(self, address: tuple[str, int], tick_ms: int) -> None:
        self.address = address
        self.tick_ms = tick_ms
        self.clock = RealClock()

    def server(self, _: str = "n1") -> "RemoteServer":
        return self

    def open(self) -> SocketChannel:
        return SocketChannel(self.address)


def perform(check: Check, deployment: object) -> None:
    """Try one check; what it leaves open is closed.

    Raises:
        AssertionError: it does not hold.
        Inapplicable: it cannot be seen there.
    """
    visit = Visit(deployment)
    try:
        check.run(visit)
    finally:
        visit.end()


def chosen(ranges: str) -> Iterator[int]:
    """The numbers in a text such as ``1-30,64``."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main(arguments: list[str] | None = None) -> int:
    """Print one line a check; 1 if any does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", metavar="HOST:PORT")
    parser.add_argument("--only", default=f"1-{len(CHECKS)}", metavar="1-30,64")
    parser.add_argument("--tick", type=int, default=2000, help="its tickTime in milliseconds")
    options = parser.parse_args(arguments)
    host, _, port = options.server.rpartition(":")
    remote = RemoteServer((host, int(port)), options.tick)
    failed = 0
    for number in chosen(options.only):
        check = CHECKS[number]
        if check.needs != "server":
            print(f"-    {check}: needs control of the servers")
            continue
        try:
            perform(check, remote)
        except Inapplicable as reason:
            print(f"-    {check}: {reason}")
        except Exception as error:
            failed += 1
            print(f"FAIL {check}: {type(error).__name__}: {error}")
        else:
            print(f"ok   {check}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
