"""``rumpus conformance``: checks that a server behaves as ZooKeeper 3.8 does."""

import argparse
import re
from collections import Counter
from typing import Final

import msgspec
from rich.markup import escape
from rich.table import Table

from rumpus.conformance.server_checks import (
    NoServerError,
    Outcome,
    RemoteServer,
    Tried,
    reach,
    try_checks,
)
from rumpus.consoles import answers, notices, print_json
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.usage_error import UsageError

_COLOURS: Final[dict[Outcome, str]] = {"pass": "green", "fail": "red", "skip": "yellow"}
_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>\d{1,5})")


def conformance_command(arguments: argparse.Namespace) -> int:
    """Print each check with its outcome; 0 if none failed, else 1.

    Raises:
        UsageError: the address is no ``HOST:PORT``.
        EnvironmentRefusal: there is no ZooKeeper server, or Python's asserts are switched off.
    """
    address = _address(arguments.server)
    if not __debug__:
        raise EnvironmentRefusal(
            "the checks are asserts, which are switched off: run without python -O and "
            "PYTHONOPTIMIZE"
        )
    tick_ms = None if arguments.tick is None else round(arguments.tick * 1000)
    try:
        remote = reach(address, tick_ms)
        tried = []
        for each in try_checks(remote):
            tried.append(each)
            if not arguments.json and each.outcome == "fail":
                notices().print(f"{each.check.number} failed", highlight=False)
    except NoServerError as error:
        raise EnvironmentRefusal(str(error)) from error
    failed = any(each.outcome == "fail" for each in tried)
    if arguments.json:
        print_json(_document(arguments.server, remote, tried))
    else:
        _print(arguments.server, remote, tried)
    return int(failed)


def _address(text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise UsageError(f"{text!r} is not HOST:PORT: give 127.0.0.1:2181, for example")
    return found["ipv6"] or found["host"], int(found["port"])


def _document(server: str, remote: RemoteServer, tried: list[Tried]) -> bytes:
    counts = Counter(each.outcome for each in tried)
    document = {
        "server": server,
        "version": remote.version or None,
        "tick_ms": remote.tick_ms,
        "passed": counts["pass"],
        "failed": counts["fail"],
        "skipped": counts["skip"],
        "checks": [
            {
                "number": each.check.number,
                "shows": each.check.text,
                "outcome": each.outcome,
                "reason": each.reason,
                "known": each.known or None,
                "seconds": round(each.seconds, 3),
            }
            for each in tried
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _print(server: str, remote: RemoteServer, tried: list[Tried]) -> None:
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column("check", justify="right")
    table.add_column("outcome")
    table.add_column("what it shows")
    for each in tried:
        words = escape(each.check.text)
        if each.reason:
            words += f" [dim]({escape(each.reason)})[/]"
        if each.known:
            words += f" [dim](as in {escape(remote.version)}: {escape(each.known)})[/]"
        colour = _COLOURS[each.outcome]
        table.add_row(str(each.check.number), f"[{colour}]{each.outcome}[/]", words)
    counts = Counter(each.outcome for each in tried)
    known = sum(bool(each.known) for each in tried)
    told = f" ({known} of them as known of {remote.version})" if known else ""
    answers().print(table)
    answers().print(
        f"{server}: {counts['pass']} passed, {counts['fail']} failed{told}, "
        f"{counts['skip']} skipped",
        markup=False,
        highlight=False,
    )
