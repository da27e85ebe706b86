"""Whether servers kept the promises of sessions: timeouts, passwords, one server at a time.

What the servers can have heard of a session is what the links passed on to them, heartbeats too.
A leader expires a session when it has heard nothing for the negotiated timeout, in steps of one
tick; a follower tells it every half tick of whom it has heard (``ExpiryQueue``, ``SessionTracker``
and ``LearnerHandler`` of 3.8). So a session must live for its timeout after a request that was
answered, and must be over a tick and a half later. That is asked only where nothing was in the
way of the servers meanwhile, and no new leader began: each gives every session its whole timeout.

``early-expiry``, ``late-expiry``
    A session ended before its timeout, or lived on after it.
``unproven-session``
    A session was resumed with a wrong password, or granted to two clients.
``moved-session``
    A server carried out a write of a session that had moved to another connection.
``revived-session``
    A session was resumed after its end.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.history import History, session_hex
from rumpus.checker.server_promises.replay import (
    anomaly_of_request,
    conversations,
    incomplete,
)
from rumpus.checker.server_promises.writes import asked
from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.calm import Span, longest_calm, merged
from rumpus.checker.timeline.timeline import Logs, Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind
from rumpus.checker.wire.matching import Conversations, Heard
from rumpus.checker.wire.records import Handshake
from rumpus.checker.znodes.ephemeral_lives import OF_A_DEAD_OWNER, OF_TWO_OWNERS, REVIVED_SESSION

EARLY_EXPIRY = Kind(
    "early-expiry",
    "a session ended before its timeout although its server had heard of it",
    about="servers",
    explains=(*OF_TWO_OWNERS, "early-removal", "freed-live-holder", "missing-entry", "lost-job"),
)
LATE_EXPIRY = Kind(
    "late-expiry",
    "a session lived on after its timeout without a sign of life",
    about="servers",
    explains=OF_A_DEAD_OWNER,
)
UNPROVEN_SESSION = Kind(
    "unproven-session",
    "a server gave a session to a client that had not proved that it is its own",
    about="servers",
    explains=OF_TWO_OWNERS,
)
MOVED_SESSION = Kind(
    "moved-session",
    "a server carried out a write of a session that had moved to another",
    about="servers",
    explains=(*OF_TWO_OWNERS, "session-order"),
)

SLACK_NS = 100_000_000
"""How far the times of servers and links may be apart (ns)."""

SETTLING_NS = 500_000_000
"""How long after that servers may still be late (ns)."""

LATE_NS = 1_000_000_000
"""How long a leader may take, besides what its ticks explain, to end a session (ns)."""


@check(
    "server sessions",
    finds=[EARLY_EXPIRY, LATE_EXPIRY, UNPROVEN_SESSION, MOVED_SESSION, REVIVED_SESSION],
)
def check_server_sessions(timeline: Timeline) -> CheckResult | None:
    """Compare what the servers did with sessions with what the links saw of them.

    None if the links recorded nothing. Cost: O(n log n) for what passed.
    """
    if not timeline.wire:
        return None
    talk = timeline.part(conversations)
    result = CheckResult(name="server sessions")
    result.anomalies += _resumed(talk, timeline)
    result.anomalies += _moved(talk, timeline)
    result.anomalies += _unclosed(talk, timeline)
    expiries = 0
    if timeline.logs is not None:
        heard = {session_hex(session): words for session, words in talk.heard.items()}
        troubled = troubles(timeline)
        doubtful = timeline.logs.truth.perhaps_closed()
        for session, life in timeline.logs.truth.sessions().items():
            words = heard.get(session)
            if words is None or session in doubtful:
                continue
            found = list(_expiry(session, life, words, troubled, timeline, timeline.logs))
            expiries += life.expired
            result.anomalies += found
    result.stats = {"handshakes": len(talk.handshakes), "expiries": expiries}
    return result


def troubles(timeline: Timeline) -> list[Span]:
    """When something was in the way of the servers, in order and without overlap.

    Servers that could not reach each other send again after pauses that have doubled each time. So
    what one has heard may get to the leader as long after a fault as that lasted.
    """
    spans = [
        (window.begun, timeline.end_of(window))
        for window in timeline.faults
        if not window.kind.startswith("client-")
    ]
    spans += timeline.leaderless
    spans += [(window.start, window.end) for window in timeline.host if window.late]
    return merged([(start, 2 * end - start + SETTLING_NS) for start, end in spans])


def _leaders(timeline: Timeline) -> list[int]:
    """When each leader had begun to lead, at the latest."""
    if timeline.logs is None:
        return []
    truth, clock = timeline.logs
    return [clock.monotonic(epoch.first_ms) for epoch in truth.epochs().values()]


def quiet(spans: Sequence[Span], since: int, until: int) -> bool:
    """Whether no span touches the time between."""
    return not any(start <= until and end >= since for start, end in spans)


def _expiry(
    session: str,
    life: SessionLife,
    heard: Heard,
    troubled: Sequence[Span],
    timeline: Timeline,
    logs: Logs,
) -> Iterator[Anomaly]:
    """Whether a session ended too early or too late."""
    history, tick = timeline.history, timeline.tick_ms * 1_000_000
    ended = None if life.closed_ms is None else logs.clock.monotonic(life.closed_ms)
    if ended is not None and life.expired:
        # What a follower has heard may have been on its way to the leader for a tick.
        known = [at for at, sent in enumerate(heard.proofs) if sent < ended - tick]
        if known:
            last = max(known, key=heard.proofs.__getitem__)
            proof, timeout = heard.proofs[last], heard.timeouts[last]
            lived = ended - proof
            led = timeline.part(_leaders)
            same = not any(proof <= begun <= ended for begun in led)
            early = lived < timeout * 1_000_000 - SLACK_NS
            if early and same and quiet(troubled, proof, ended):
                yield _of_session(
                    EARLY_EXPIRY,
                    f"session {session}, with a timeout of {timeout} ms, was ended at "
                    f"{at(history, ended)}, only {lived / 1e9:.2f} s after a request of "
                    f"{at(history, proof)} that was answered",
                    (proof, ended),
                    history,
                    session,
                )
                return
    yield from _late(session, ended, life, heard, troubled, timeline)


def _late(
    session: str,
    ended: int | None,
    life: SessionLife,
    heard: Heard,
    troubled: Sequence[Span],
    timeline: Timeline,
) -> Iterator[Anomaly]:
    """The first silence that a session outlived although it was too long.

    A new leader gives a session its whole timeout, from when it begins to lead.
    """
    history, tick = timeline.history, timeline.tick_ms * 1_000_000
    longest = max(heard.timeouts, default=None)
    if longest is None:
        return
    allowed = longest * 1_000_000 + 3 * tick // 2 + LATE_NS
    over = history.end if ended is None else ended
    signs = sorted(each for each in heard.signs if each < over)
    if ended is None or life.expired:  # else its client ended it, which is the last sign
        signs.append(over)
    for sign, following in pairwise(signs):
        if following - sign <= allowed:
            continue
        led = [begun for begun in timeline.part(_leaders) if sign < begun < following]
        since, until = longest_calm(troubled, max([sign, *led]), following)
        if until - since > allowed:
            lived = "was ended only" if following == ended else "still lived"
            yield _of_session(
                LATE_EXPIRY,
                f"session {session}, with a timeout of {longest} ms, {lived} at "
                f"{at(history, following)}, {(following - sign) / 1e9:.2f} s after the last that "
                "servers can have heard of it",
                (sign, following),
                history,
                session,
            )
            return


def _resumed(talk: Conversations, timeline: Timeline) -> Iterator[Anomaly]:
    """Sessions that were resumed with a wrong password, or after their end."""
    ends = {} if timeline.logs is None else _ends(timeline.logs)
    given: dict[int, Handshake] = {}
    for shake in sorted(talk.handshakes.values(), key=lambda each: each.sent):
        if shake.session and not shake.asked:
            first = given.setdefault(shake.session, shake)
            if first is not shake:
                who = f"{talk.who(shake.client)} got session {session_hex(shake.session)} as a new"
                words = f"{who} one at {shake.node}, and it was {talk.who(first.client)}'s already"
                yield of_handshake(UNPROVEN_SESSION, words, shake, talk)
        if not shake.asked or shake.session != shake.asked:
            continue
        by = talk.who(shake.client)
        who = f"session {session_hex(shake.session)} was resumed by {by} at {shake.node}"
        if shake.proved is False:
            yield of_handshake(UNPROVEN_SESSION, f"{who} with a wrong password", shake, talk)
        ended = ends.get(session_hex(shake.session))
        if ended is not None and shake.sent > ended + SLACK_NS:
            since = (shake.sent - ended) / 1e9
            yield of_handshake(REVIVED_SESSION, f"{who} {since:.2f} s after its end", shake, talk)


def _ends(logs: Logs) -> Mapping[str, int]:
    """Session -> when it ended, if it did."""
    truth, clock = logs
    return {
        session: clock.monotonic(life.closed_ms)
        for session, life in truth.sessions().items()
        if life.closed_ms is not None
    }


def _moved(talk: Conversations, timeline: Timeline) -> Iterator[Anomaly]:
    """Writes that were carried out on a connection that their session had left.

    It has left if it was asked for elsewhere after this connection had it, and was granted there.
    """
    shakes: dict[int, list[Handshake]] = defaultdict(list)
    for shake in talk.handshakes.values():
        if shake.session and shake.answered is not None:
            shakes[shake.session].append(shake)
    for connection, writes in talk.written.items():
        own = talk.handshakes[connection]
        later = [shake for shake in shakes[own.session] if shake.sent > (own.answered or own.sent)]
        if not later:
            continue
        left = min(later, key=lambda each: each.answered or each.sent)
        for sent, place in writes:
            if sent > (left.answered or left.sent):
                request = timeline.wire.request_at(place)
                words = (
                    f"{asked(request)} of {talk.who(request.client)} was carried out at {own.node}"
                    f", although session {session_hex(own.session)} had moved to {left.node}"
                )
                yield anomaly_of_request(MOVED_SESSION, words, request, talk)


def _unclosed(talk: Conversations, timeline: Timeline) -> Iterator[Anomaly]:
    """Sessions that were said to be closed, and are not."""
    truth = timeline.truth
    if truth is None or incomplete(truth):
        return
    closed = {txn.session: txn.zxid for txn in truth.committed if txn.name == "closeSession"}
    unsure = {txn.session for txn in (*truth.uncertain, *truth.forked)}
    last = max((txn.zxid for txn in truth.committed), default=0)
    for request in talk.closes:
        if request.error != 0 or request.zxid > last:  # the logs end before that
            continue
        session = talk.session_of(request)
        if (
            session
            and session not in unsure
            and closed.get(session, request.zxid + 1) > request.zxid
        ):
            words = f"{talk.node_of(request)} told {talk.who(request.client)} that session "
            words += f"{session_hex(session)} was closed, and it was not"
            yield anomaly_of_request(LATE_EXPIRY, words, request, talk)


def of_handshake(kind: Kind, words: str, shake: Handshake, talk: Conversations) -> Anomaly:
    """An anomaly of one handshake, from when it was sent to its answer."""
    end = shake.sent if shake.answered is None else shake.answered
    return Anomaly(
        kind=kind.name,
        description=words,
        clients=talk.named(shake.client),
        start=shake.sent,
        end=end,
    )


def _of_session(kind: Kind, words: str, span: Span, history: History, session: str) -> Anomaly:
    client = history.clients_of_sessions().get(session)
    return Anomaly(
        kind=kind.name,
        description=words,
        clients=[] if client is None else [client],
        start=span[0],
        end=span[1],
        length_ms=(span[1] - span[0]) / 1e6,
    )
