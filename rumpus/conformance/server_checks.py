"""The checks that need nothing but a server that can be reached, and trying them on one.

They share no code with the simulated servers that they test.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from struct import error as StructError  # noqa: N812 - the name of a class
from typing import Literal

from rumpus.conformance import (
    checks_access,
    checks_handshake,
    checks_multi,
    checks_sessions,
    checks_validation,
    checks_watches,
    checks_words,
)
from rumpus.conformance import operations as op
from rumpus.conformance.channel import RealClock, SocketChannel
from rumpus.conformance.raw_client import Closed, Silence
from rumpus.conformance.registry import CHECKS, Check, Inapplicable
from rumpus.conformance.version_differences import DIFFERENCES
from rumpus.conformance.visit import Visit, done
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord

MODULES = (
    checks_handshake,
    checks_validation,
    checks_access,
    checks_multi,
    checks_watches,
    checks_sessions,
    checks_words,
)
"""In the order of their numbers; importing them fills the registry."""

SYSTEM = "zookeeper"
OWNER = b"u:p"
"""The user for whom the checks protect znodes."""
FRESH_TREE = 1
"""The check that only a server can be given that was never used."""
STANDALONE = (8, 71)
"""Checks of what an ensemble's servers do differently: ids of sessions, and the mode in srvr."""
MOST_OF_FRESH = 10
"""A server whose zxid is lower, in its epoch, has seen no more than a few sessions."""

Outcome = Literal["pass", "fail", "skip"]


class NoServerError(Exception):
    """No ZooKeeper server can be checked at an address; the message says why, and the remedy."""


@dataclass(frozen=True)
class Tried:
    """One check that was tried.

    Attributes:
        check: the check.
        outcome: ``skip``: what it looks at cannot be seen there.
        reason: why it failed or was skipped; empty if it passed.
        seconds: how long it took.
        known: how servers of this version are known to differ, if the check failed; else empty.
    """

    check: Check
    outcome: Outcome
    reason: str
    seconds: float
    known: str = ""


class RemoteServer:
    """A server that can only be talked to.

    Args:
        address: host and port.
        tick_ms: its ``tickTime``.
    """

    version = ""
    """ZooKeeper's version, as ``srvr`` tells; empty if it does not."""
    nodes = ("n1",)

    def __init__(self, address: tuple[str, int], tick_ms: int) -> None:
        self.address = address
        self.tick_ms = tick_ms
        self.clock = RealClock()

    def server(self, _: str = "n1") -> "RemoteServer":
        """Itself: there is only one."""
        return self

    def open(self) -> SocketChannel:
        """A new connection.

        Raises:
            OSError: it cannot be opened.
        """
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


def reach(address: tuple[str, int], tick_ms: int | None = None) -> RemoteServer:
    """A server that answers.

    Args:
        address: host and port.
        tick_ms: its ``tickTime``; None: what it says itself (``conf``), or half the shortest
            timeout that it grants to a session.

    Raises:
        NoServerError: there is none that can be checked.
    """
    remote = RemoteServer(address, tick_ms or 0)
    visit = Visit(remote)
    where = f"{address[0]}:{address[1]}"
    try:
        client = visit.connect()
        answer = client.handshake(0)
        if not answer.valid:
            raise NoServerError(f"{where} grants no session: {answer}")
        remote.tick_ms = tick_ms or _tick_ms(visit) or answer.timeout_ms // 2
    except OSError as error:
        raise NoServerError(
            f"{where} cannot be reached ({error.strerror or error}): is the server running, and is "
            "this its client port?"
        ) from error
    except (Closed, Silence, ValueError) as error:
        raise NoServerError(
            f"{where} takes connections and opens no ZooKeeper session ({error}): give the client "
            "port of a server that serves"
        ) from error
    finally:
        visit.end()
    return remote


def try_checks(remote: RemoteServer) -> Iterator[Tried]:
    """Try all checks on a server, in the order of their numbers.

    At the end the znodes are removed that the checks have created.
    """
    before, zxid, told = _look(remote)
    mode = told.get("Mode", "")
    remote.version = told.get("Zookeeper version", "").partition("-")[0]
    known = DIFFERENCES.get(remote.version, {})
    unseen = {}
    if before != {SYSTEM} or zxid & 0xFFFFFFFF > MOST_OF_FRESH:
        unseen[FRESH_TREE] = "the server has been used before, so its tree is not a fresh one"
    if mode != "standalone":
        why = f"not a standalone server: {mode or 'it does not answer srvr'}"
        unseen |= dict.fromkeys(STANDALONE, why)
    try:
        for _, check in sorted(CHECKS.items()):
            if check.needs == "server":
                tried = _try_one(check, remote, unseen.get(check.number))
                if tried.outcome == "fail":
                    tried = replace(tried, known=known.get(check.number, ""))
                yield tried
    finally:
        _remove(remote, before)


def _try_one(check: Check, remote: RemoteServer, unseen: str | None) -> Tried:
    if unseen is not None:
        return Tried(check, "skip", unseen, 0.0)
    began = time.monotonic()
    outcome: Outcome = "pass"
    reason = ""
    try:
        perform(check, remote)
    except Inapplicable as why:
        outcome, reason = "skip", str(why)
    except AssertionError as error:
        # Under pytest the lines after the first are pytest's.
        outcome, reason = "fail", str(error).partition("\n")[0]
    except Exception as error:  # whatever the server did, it was not what the check is about
        outcome, reason = "fail", f"{type(error).__name__}: {error}"
    return Tried(check, outcome, reason, time.monotonic() - began)


def _tick_ms(visit: Visit) -> int | None:
    """The tickTime that ``conf`` tells; None if the server does not answer that word."""
    try:
        found = re.search(r"^tickTime=(\d+)$", visit.word("conf"), re.MULTILINE)
    except Inapplicable:
        return None
    return int(found[1]) if found else None


@contextmanager
def _visiting(remote: RemoteServer) -> Iterator[Visit]:
    visit = Visit(remote)
    try:
        yield visit
    except (OSError, Closed, Silence) as error:
        raise NoServerError(
            f"{remote.address[0]}:{remote.address[1]} does not answer any more ({error}): look "
            "whether the server still runs"
        ) from error
    except (AssertionError, LookupError, MalformedRecord, StructError, ValueError) as error:
        raise NoServerError(
            f"{remote.address[0]}:{remote.address[1]} does not answer as ZooKeeper does "
            f"({error}): nothing can be checked there"
        ) from error
    finally:
        visit.end()


def _look(remote: RemoteServer) -> tuple[set[str], int, dict[str, str]]:
    """The names of the root's children, the last zxid, and ``srvr``; empty if it is not told."""
    with _visiting(remote) as visit:
        reply = visit.session().call(op.get_children("/"))
        try:
            told = visit.srvr("n1")
        except Inapplicable:
            told = {}
        return set(done(reply)), reply.zxid, told


def _remove(remote: RemoteServer, keep: set[str]) -> None:
    """Remove all of the root's children but some."""
    with _visiting(remote) as visit:
        client = visit.session()
        done(client.call(op.auth("digest", OWNER), xid=-4))
        for name in sorted(set(done(client.call(op.get_children("/")))) - keep):
            visit.remove(client, f"/{name}")
