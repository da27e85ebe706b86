"""What the drawing of a server's anomaly shows: requests, answers and events as the links saw them.

The request, session or transaction that an anomaly is about is found by its time and by the ids
in its words; beside it stand the handshakes of its session, and who changed its znode before.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from docs.generators.scene import Row
from rumpus.checker.history import session_hex
from rumpus.checker.server_promises.events import WRONG_EVENT
from rumpus.checker.server_promises.replay import conversations
from rumpus.checker.server_promises.writes import asked
from rumpus.checker.servers.server_truth import touched
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly
from rumpus.checker.wire.matching import Connection, Conversations
from rumpus.checker.wire.records import Event, Handshake, Part, Request
from rumpus.checker.wire.rules import ERRORS

AUDITOR: Final = "auditor"
MOST_CHANGES: Final = 3
"""Of what happened to the anomaly's znode before."""
MOST_ROWS: Final = 9

_HEX: Final = re.compile(r"0x([0-9a-f]+)")
_PATH: Final = re.compile(r"(?<![\w/])(/[^\s,;:()]+)")
_TOLD: Final = {"created": "was created", "deleted": "was deleted", "changed": "was changed"}


class WireStory:
    """The rows of one anomaly, of what passed on the links and what servers logged."""

    def __init__(self, timeline: Timeline, anomaly: Anomaly) -> None:
        self._timeline = timeline
        self._talk: Conversations = timeline.part(conversations)
        self._anomaly = anomaly
        found = [each for each in timeline.wire if isinstance(each, Request)]
        self._requests = sorted(found, key=lambda each: each.sent)
        self._ids = [int(each, 16) for each in _HEX.findall(anomaly.description)]
        self._paths = list(dict.fromkeys(_PATH.findall(anomaly.description)))
        truth = timeline.truth
        self._committed: Sequence[Txn] = () if truth is None else truth.committed

    def rows(self) -> list[Row]:
        """The rows, in order of time: those of the anomaly itself, and of what led to it."""
        own = self._own_requests()
        main = {row for request in own for row in self._exchange(request)}
        known = {shake.session or shake.asked for shake in self._talk.handshakes.values()}
        named = known.intersection(self._ids)
        main |= set(self._events(own))
        main |= set(self._ends(named | {self._talk.session_of(each) for each in own}))
        main |= set(self._watching(own))
        around = {*self._handshakes(named, own), *self._changes(own)} - main
        near = sorted(around, key=lambda row: abs(row.time - self._anomaly.end))
        first = sorted(main, key=_in_order)[:MOST_ROWS]
        return sorted([*first, *near[: MOST_ROWS - len(first)]], key=_in_order)

    def who(self, client: int) -> str:
        """The lane of a client; the one beyond the workload's is the harness's own."""
        return f"c{client}" if client < self._talk.clients else AUDITOR

    def _own_requests(self) -> list[Request]:
        """The requests that the anomaly is about."""
        start, end = self._anomaly.start, self._anomaly.end
        found = [each for each in self._requests if each.answered == end or each.sent == start]
        zxids = [txn.zxid for txn in self._committed if self._time(txn) == start == end]
        logged = (self._request_of(each) for each in (*self._ids, *zxids))
        found += [each for each in logged if each is not None and each not in found]
        named = [each for each in found if self._is_named(each)]
        return named or found[:2]

    def _request_of(self, zxid: int) -> Request | None:
        """The request of a transaction, where that is known."""
        place = self._talk.transactions.get(zxid)
        return None if place is None else self._timeline.wire.request_at(place)

    def _is_named(self, request: Request) -> bool:
        paths = [part.path for part in (request.parts or [request])]
        return not self._paths or any(path in self._paths for path in paths)

    def _exchange(self, request: Request) -> Iterator[Row]:
        who, node = self.who(request.client), self._talk.node_of(request)
        yield Row(request.sent, f"{who} asks {node}: {_asked(request)}", (node,), who)
        if request.answered is not None:
            words = f"{node} answers {who}: {_told(request)}"
            yield Row(request.answered, words, (who,), node)

    def _events(self, own: Iterable[Request]) -> Iterator[Row]:
        """The events that came before the answers, since the anomaly began."""
        answers = {(each.client, each.connection): each for each in own}
        for each in self._timeline.wire:
            if not isinstance(each, Event) or (each.client, each.connection) not in answers:
                continue
            if self._anomaly.start <= each.sent <= self._anomaly.end:
                who = self.who(each.client)
                node = self._node((each.client, each.connection))
                news = _TOLD.get(each.what, "has other children")
                yield Row(each.sent, f"{node} tells {who}: {each.path} {news}", (who,), node)

    def _watching(self, own: Iterable[Request]) -> Iterator[Row]:
        """The last requests before that watch the anomaly's znodes, on the same connections."""
        for answer in own:
            watching = [
                each
                for each in self._requests
                if (each.client, each.connection) == (answer.client, answer.connection)
                and each.sent < answer.sent
                and each.path in self._paths
                and (each.watch or each.name == "add-watch")
            ]
            if watching and self._anomaly.kind == WRONG_EVENT.name:
                yield from self._exchange(watching[-1])

    def _node(self, connection: Connection) -> str:
        return self._talk.handshakes[connection].node

    def _handshakes(self, sessions: set[int], own: Sequence[Request]) -> Iterator[Row]:
        begun = {(each.client, each.connection) for each in own}
        for connection, shake in self._talk.handshakes.items():
            if shake.sent > self._anomaly.end:
                continue
            if connection in begun or {shake.session, shake.asked} & sessions - {0}:
                yield self._greeted(shake)

    def _greeted(self, shake: Handshake) -> Row:
        who, node = self.who(shake.client), shake.node
        if not shake.asked:
            words = f"{who} gets session {session_hex(shake.session)} from {node}"
        elif shake.session:
            words = f"{who} resumes session {session_hex(shake.session)} at {node}"
        else:
            words = f"{node} refuses {who} session {session_hex(shake.asked)}"
        if shake.asked and shake.proved is False:
            words += ", with a wrong password"
        if shake.session and not shake.asked:
            words += f", with a timeout of {shake.timeout} ms"
        return Row(shake.sent, words, (node,), who)

    def _changes(self, own: Sequence[Request]) -> Iterator[Row]:
        """What was done to the anomaly's znodes before, and by whom."""
        if not self._paths:
            return
        until = self._anomaly.end
        about = {self._paths[0]}
        done = 0
        for txn in reversed(self._committed):
            time = self._time(txn)
            if time > until or done >= MOST_CHANGES or not touched(txn.effects) & about:
                continue
            request = self._request_of(txn.zxid)
            if request is not None and request in own:
                continue
            done += 1
            if request is None:
                yield from self._logged(time, f"0x{txn.zxid:x}: {txn.name} {self._paths[0]}")
            else:
                who, node = self.who(request.client), self._talk.node_of(request)
                words = f"{who}: {_asked(request)}: {_result(request)} (0x{txn.zxid:x})"
                yield Row(request.sent, words, (node,), who)

    def _ends(self, sessions: set[int]) -> Iterator[Row]:
        for txn in self._committed:
            if txn.name == "closeSession" and txn.session in sessions:
                words = f"the end of session {session_hex(txn.session)} (0x{txn.zxid:x})"
                yield from self._logged(self._time(txn), words)

    def _logged(self, time: int, words: str) -> Iterator[Row]:
        """A row at the server that led then, if one is known."""
        for each in self._timeline.bars:
            if each.kind == "leader" and each.start <= time <= each.end:
                yield Row(time, f"{each.label} logs {words}", (each.label,))
                return

    def _time(self, txn: Txn) -> int:
        clock = self._timeline.clock
        return self._timeline.history.start if clock is None else clock.monotonic(txn.time_ms)


def _in_order(row: Row) -> tuple[int, str]:
    return row.time, row.words


def _asked(request: Request) -> str:
    watch = ", with a watch" if request.watch else ""
    return f"{asked(request)}{watch}".rstrip()


def _told(request: Request) -> str:
    if request.error:
        return ERRORS.get(request.error, f"error {request.error}")
    parts = ", ".join(_result(each) for each in request.parts)
    return f"{parts or _result(request)} at 0x{request.zxid:x}"


def _result(part: Part) -> str:
    if part.error:
        return ERRORS.get(part.error, f"error {part.error}")
    told = [part.made] if part.made else []
    if part.told is not None:
        told.append(f"{part.told[0]} bytes")
    if part.children is not None:
        told.append(f"{part.children[0]} names")
    if part.count is not None:
        told.append(f"{part.count} below")
    if part.stat is not None:
        told.append(f"version {part.stat[4]}")
    return ", ".join(told) or "done"
