"""Whether the servers kept to what their settings say: timeouts, length of requests, members.

``wrong-answer``
    A session got another timeout than the one asked for, within ``minSessionTimeout`` and
    ``maxSessionTimeout``. Or a request that is longer than ``jute.maxbuffer`` was answered, where a
    server must hang up. Or the auditor got no answer to one that is just as long.
``illegal-change``
    A request that is too long was carried out, or a ``reconfig`` while that is disabled.

The length of a request is known of a ``setData`` only: of others the record of the wire does not
have all parts. A server that hangs up reads no more than a request's length, so the links do not
see the whole of it; the auditor counts what was not answered (``unanswered`` of its walk).
"""

from collections.abc import Iterator

from rumpus.checker.check import check
from rumpus.checker.server_promises.replay import (
    ILLEGAL_CHANGE,
    WRONG_ANSWER,
    anomaly_of_request,
    conversations,
)
from rumpus.checker.server_promises.sessions import of_handshake, quiet
from rumpus.checker.server_promises.writes import asked
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.wire.matching import Conversations
from rumpus.checker.wire.records import Request
from rumpus.checker.wire.settings import LONGEST_REQUEST, ServerSettings

TWICE = 2
"""How often a server must not have answered: once may be a connection that broke."""


@check("server limits", finds=[WRONG_ANSWER, ILLEGAL_CHANGE])
def check_server_limits(timeline: Timeline) -> CheckResult | None:
    """Compare what passed on the links with the servers' settings.

    None if these are not known, or the links recorded nothing. Cost: O(n) for what passed.
    """
    settings = timeline.settings
    if settings is None or not timeline.wire:
        return None
    talk = timeline.part(conversations)
    result = CheckResult(name="server limits")
    result.anomalies += _timeouts(talk, settings)
    result.anomalies += _too_long(talk, settings)
    if settings.longest_request >= LONGEST_REQUEST:
        result.anomalies += _unanswered(timeline, settings)
    result.anomalies += _reconfigured(talk, settings)
    result.stats = {
        "timeouts": sum(shake.timeout > 0 for shake in talk.handshakes.values()),
        "long_requests": len(talk.long),
        "reconfigs": len(talk.reconfigs),
    }
    return result


def length_of(request: Request) -> int:
    """The bytes of a ``setData``: header, path, data, version."""
    data = 0 if request.data is None else request.data[0]
    return 8 + 4 + len(request.path.encode()) + 4 + data + 4


def _timeouts(talk: Conversations, settings: ServerSettings) -> Iterator[Anomaly]:
    for shake in talk.handshakes.values():
        due = settings.granted(shake.wanted)
        if shake.timeout not in (0, due):
            words = (
                f"{shake.node} granted {talk.who(shake.client)} a session timeout of "
                f"{shake.timeout} ms, and must grant {due} ms: {shake.wanted} ms were asked for, "
                f"and its bounds are {settings.shortest_session} and {settings.longest_session} ms"
            )
            yield of_handshake(WRONG_ANSWER, words, shake, talk)


def _too_long(talk: Conversations, settings: ServerSettings) -> Iterator[Anomaly]:
    """Requests that a server must not read, and has answered."""
    for request in talk.long:
        length = length_of(request)
        if length <= settings.longest_request or request.answered is None:
            continue
        kind, did = (WRONG_ANSWER, "answered") if request.error else (ILLEGAL_CHANGE, "carried out")
        words = (
            f"{talk.node_of(request)} {did} {asked(request)} of {talk.who(request.client)}, a "
            f"request of {length:,} bytes, and reads no more than {settings.longest_request:,}"
        )
        yield anomaly_of_request(kind, words, request, talk)


def _unanswered(timeline: Timeline, settings: ServerSettings) -> Iterator[Anomaly]:
    """Servers that the auditor found not to read what they must."""
    troubled = [
        *((window.begun, timeline.end_of(window)) for window in timeline.faults),
        *timeline.leaderless,
        *((window.start, window.end) for window in timeline.host if window.late),
    ]
    for op in timeline.history.events("control", "walk"):
        walk = op.value
        times, began = walk.get("unanswered") or 0, op.time - int(walk["seconds"] * 1e9)
        if times >= TWICE and walk["session"] and quiet(troubled, began, op.time):
            words = (
                f"{walk['node']} did not answer requests of {LONGEST_REQUEST:,} bytes, {times} of "
                f"{times}, and must read as much as {settings.longest_request:,}"
            )
            yield Anomaly(kind=WRONG_ANSWER.name, description=words, start=began, end=op.time)


def _reconfigured(talk: Conversations, settings: ServerSettings) -> Iterator[Anomaly]:
    for request in talk.reconfigs:
        if not settings.reconfigurable and request.answered is not None and not request.error:
            words = (
                f"{talk.node_of(request)} carried out a reconfig of {talk.who(request.client)}, "
                "and must refuse all: reconfigEnabled is false"
            )
            yield anomaly_of_request(ILLEGAL_CHANGE, words, request, talk)
