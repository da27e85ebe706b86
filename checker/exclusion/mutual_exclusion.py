"""Mutual exclusion, by what servers granted, what clients believed, and what they did.

Two holds of different clients conflict where their beliefs overlap, unless both are shared. Of a
semaphore with n permits, n + 1 holds conflict where their beliefs overlap. The kind of anomaly
depends on the two sessions, whose ends are read from the servers' transaction logs, never guessed:

- as long as both sessions live on the server the overlap is a ``split-brain``;
- from the moment one of the two has expired, its client is a *stale* holder: ``stale-belief``
  if it had no chance to know yet, ``unaware-holder`` if its process was running and its own
  clock should have told it.

When should it have known? A leader expires a session when more than its timeout has passed since
the last request that the leader heard of. So a client that counts from when it *sent* its last
answered request would give up before the leader does, if every answer came by way of the leader.
But a follower that is cut off from its leader answers heartbeats by itself, until it gives up after
``syncLimit`` ticks. The tolerance is longer than that. So a client whose process was running, and
that believes longer than the tolerance after the expiry, is late from whatever moment it counted. A
process that was frozen at that time gets the same tolerance from when it was resumed.

Where nobody sees the servers (a recipe on services of the user's), a session is as long as its
hold is believed in: each overlap is a ``split-brain``, and a holder is stale once it has stopped
believing (``checker.timeline.believed_lives``).

A stale holder's action is harmful from the moment a later holder has touched the resource:
before that it takes effect as if the later grant had come after it. A fence can prevent actions
after that moment, not all those after the expiry; so ``stale-action`` counts only the former.

Holds are swept in order of grant, O(n log n + pairs that overlap). To find out whether there is
any overlap, comparing neighbours would be enough (Gibbons and Korach 1997 argue the same for
zones); the report needs all pairs. Where several may hold at once, too many can begin to believe
only where a belief begins, so they are counted there, O(n log n + n times their number).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from rumpus.checker.check import Least, check
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, NodesOfHolds, Ownership, ServerView
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind
from rumpus.checker.wording import counted

DOUBLE_GRANT = Kind(
    "double-grant", "on the servers, more live sessions owned it at once than allowed", logs=True
)
SPLIT_BRAIN = Kind(
    "split-brain", "more clients with live sessions than allowed believed that they held it"
)
STALE_BELIEF = Kind(
    "stale-belief", "a client believed that it held it after its session expired, not knowing yet"
)
UNAWARE_HOLDER = Kind(
    "unaware-holder",
    "a client believed that it held it after its own clock should have told it",
    timed=True,
)
STALE_ACTION = Kind(
    "stale-action", "an action of a stale holder reached the resource and was accepted"
)
FENCED = Kind("fenced", "an action of a stale holder was refused by the fence, as it should be")

KINDS = (DOUBLE_GRANT, SPLIT_BRAIN, STALE_BELIEF, UNAWARE_HOLDER, STALE_ACTION, FENCED)

BELIEVED = Kind("split-brain", "more clients than allowed believed that they held it")
"""``SPLIT_BRAIN`` where nobody sees the servers, so that nothing is known of sessions."""

TOLERANCE_NS = 3_000_000_000
"""How long (ns) after an expiry, or after its process is resumed, a client may still believe.

Longer than a follower that is cut off goes on answering: 5 ticks of half a second.
"""


MOST_PAIRS: Final = 500_000
"""How many overlaps are kept: n beliefs have n² / 2, and a file of 1 MB has 10,000 beliefs."""


def overlaps(holds: Sequence[Hold]) -> Iterator[tuple[Hold, Hold, int, int]]:
    """Pairs of holds that exclude each other whose beliefs overlap, and from when to when.

    Holds of one client exclude no other. The pair is ordered by grant; where several belief
    intervals overlap, the span reaches from the first common moment to the last. No more than the
    first `MOST_PAIRS` pairs are looked at.
    """
    found: dict[int, tuple[int, int]] = {}  # by both numbers as one: there may be millions
    many = len(holds)
    open_ends: list[tuple[int, int, int]] = []
    spans = sorted(
        (start, end, number)
        for number, hold in enumerate(holds)
        for start, end in hold.beliefs
        if end > start
    )
    for start, end, number in spans:
        while open_ends and open_ends[0][0] <= start:
            heappop(open_ends)
        for other_end, _, other in open_ends:
            hold = holds[number]
            if holds[other].client != hold.client and hold.excludes(holds[other]):
                pair = min(number, other) * many + max(number, other)
                if len(found) == MOST_PAIRS and pair not in found:
                    continue
                known = found.get(pair, (start, start))
                found[pair] = (min(known[0], start), max(known[1], min(end, other_end)))
        heappush(open_ends, (end, start, number))
    for pair in sorted(found):
        yield (holds[pair // many], holds[pair % many], *found[pair])


MOST_TOLD: Final = 1_000
"""Of more overlaps that cannot be judged the others are not told: n beliefs have n² / 2."""


@dataclass(frozen=True)
class Crowd:
    """More clients believe than may hold at once, from ``start``: the last member's beginning.

    ``ends``: when each member's belief ended. ``end``: when no more were left than may hold.
    """

    members: Sequence[Hold]
    ends: Sequence[int]
    start: int
    end: int


def crowds(holds: Sequence[Hold], permits: int) -> Iterator[Crowd]:
    """Where beliefs of more clients than ``permits`` overlap, in order of time.

    One crowd for each belief at whose beginning there are too many, so that every moment with too
    many believers lies in a crowd.
    """
    spans = sorted(
        (start, end, number)
        for number, hold in enumerate(holds)
        for start, end in hold.beliefs
        if end > start
    )
    standing: list[tuple[int, int]] = []
    for start, end, number in spans:
        hold = holds[number]
        standing = [(until, other) for until, other in standing if until > start]
        mine = [until for until, other in standing if holds[other].client == hold.client]
        if mine:
            standing = [
                (until, other) for until, other in standing if holds[other].client != hold.client
            ]
        standing.append((max([end, *mine]), number))
        if len(standing) > permits:
            ends = [until for until, _ in standing]
            left = sorted(ends, reverse=True)[permits]
            yield Crowd([holds[other] for _, other in standing], ends, start, left)


@check("exclusion", finds=KINDS, least=[Least(10, "handovers", "contended handovers")])
def check_exclusion(timeline: Timeline, tolerance: int = TOLERANCE_NS) -> CheckResult:
    """Judge mutual exclusion: one holder at a time, or several readers, or up to ``permits``.

    Args:
        timeline: the run.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
    """
    # Without logs, later grants still prove that sessions lived; but not how many expired.
    result = _exclusion_of(timeline, timeline.lives, tolerance)
    if timeline.servers is None:
        result.stats["expiries_while_holding"] = None
    return result


@check("exclusion", finds=KINDS)
def check_primary(timeline: Timeline) -> CheckResult:
    """Judge that one client at a time believes to have a role that nobody asks for.

    Nobody gives it back by a call either, so the end of a session can end its last hold only.
    """
    result = _exclusion_of(timeline, timeline.servers, TOLERANCE_NS)
    if timeline.servers is not None:
        last = {hold.session: hold for hold in timeline.holds}
        ended = expired_while_holding([*last.values()], timeline.servers)
        result.stats["expiries_while_holding"] = len(ended)
    return result


def _exclusion_of(timeline: Timeline, server: ServerView | None, tolerance: int) -> CheckResult:
    return judge_exclusion(
        timeline.history,
        timeline.holds,
        server,
        timeline.words,
        permits=timeline.permits,
        tolerance=tolerance,
        lateness_matters="unaware-holder" in timeline.promises.prevents,
    )


def judge_exclusion(
    history: History,
    holds: Sequence[Hold],
    server: ServerView | None,
    words: Words = Words(),  # noqa: B008 - frozen
    *,
    permits: int = 1,
    tolerance: int = TOLERANCE_NS,
    lateness_matters: bool = False,
) -> CheckResult:
    """Judge mutual exclusion of any holds: of one part of a set, say.

    Args:
        history: the run.
        holds: its holds.
        server: None when the servers' logs are not at hand.
        words: names of the operations.
        permits: how many may hold at once.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
        lateness_matters: whether the result is unknown where the logs cannot tell if a holder
            was unaware that its session had ended.
    """
    judge = _Judge(history, holds, server, words, permits, tolerance)
    result = judge.result
    judge.double_grants()
    if permits == 1:
        pairs = 0
        for first, second, start, end in overlaps(holds):
            pairs += 1
            judge.overlap(first, second, start, end)
        if pairs == MOST_PAIRS:
            result.unknown.append(
                f"at least {pairs:,} pairs of beliefs overlap, and the others were not looked at"
            )
    else:
        for crowd in crowds(holds, permits):
            judge.crowd(crowd)
    judge.stale_beliefs()
    for hold, expiry in judge.stale:
        judge.lateness(hold, expiry)
    if lateness_matters:
        judge.untold_lateness()
    judge.actions()
    result.stats = {
        "holds": len(holds),
        "handovers": count_handovers(holds, permits),
        "expiries_while_holding": len(expired_while_holding(holds, server)) if server else None,
        "actions": sum(len(hold.acts) for hold in holds),
        "accepted_actions_of_stale_holders": sum(
            act.value["accepted"] and act.time > expiry + CLOCK_SLACK_NS
            for hold, expiry in judge.stale
            for act in hold.acts
        ),
    }
    return result


@check("lateness", finds=[UNAWARE_HOLDER])
def check_lateness(timeline: Timeline) -> CheckResult:
    """Judge only whether holders noticed in time that their session had ended.

    For what any number may hold at once.
    """
    holds = timeline.holds
    judge = _Judge(
        timeline.history, holds, timeline.servers, timeline.words, len(holds), TOLERANCE_NS
    )
    for hold, expiry in judge.stale:
        judge.lateness(hold, expiry)
    judge.untold_lateness()
    judge.result.name = "lateness"
    judge.result.stats = {"late_beliefs": len(judge.stale)}
    return judge.result


def count_handovers(holds: Sequence[Hold], permits: int = 1) -> int:
    """Contended handovers: grants to a client that had called while others blocked it.

    These others are the ``permits`` grants just before it, all still believed in at its call.
    """
    return sum(
        all(
            earlier.beliefs
            and later.client != earlier.client
            and later.excludes(earlier)
            and later.called < earlier.believed_until
            for earlier in holds[place - permits : place]
        )
        for place, later in enumerate(holds)
        if place >= permits
    )


def expired_while_holding(holds: Sequence[Hold], server: ServerView) -> list[Hold]:
    """Holds that the server ended, by letting their session expire.

    Before their client called ``release``; or after that, where the call did not get through and
    it was the expiry that removed their node.
    """
    nodes = NodesOfHolds(server)
    return [
        hold
        for hold in holds
        if (end := server.ended(hold.session)) is not None
        and end.expired
        and end.time + CLOCK_SLACK_NS >= hold.granted
        and (
            hold.release_called is None
            or end.time < hold.release_called
            or (
                not hold.released
                and not server.lapsed.isdisjoint({(hold.session, None), (hold.session, hold.token)})
            )
            or ((owner := nodes.node_of(hold)) is not None and owner.expired)
        )
    ]


def _stale_holds(holds: Sequence[Hold], server: ServerView | None) -> list[tuple[Hold, int]]:
    """Holds that were believed in after their session had ended on the server, and when it had."""
    if server is None:
        return []
    found = []
    for hold in holds:
        end = server.ended(hold.session) if hold.session in server.known else None
        if end is not None and hold.believed_until > end.time + CLOCK_SLACK_NS:
            found.append((hold, end.time))
    return found


class _Judge:
    """One judgement of a history: what is known, and what has been found so far."""

    def __init__(
        self,
        history: History,
        holds: Sequence[Hold],
        server: ServerView | None,
        words: Words,
        permits: int,
        tolerance: int,
    ) -> None:
        self.result = CheckResult(name="exclusion")
        self.stale = _stale_holds(holds, server)
        self._origin = history.start
        self._clients = history.clients_of_sessions()
        self._holds = holds
        self._server = server
        self._believed = server is not None and server.believed
        self._slack = 0 if self._believed else CLOCK_SLACK_NS
        if self._believed:
            self.result.kinds[BELIEVED.name] = BELIEVED
        self._thing = words.thing
        self._permits = permits
        self._tolerance = tolerance
        self._overlapping: dict[Hold, list[tuple[int, Hold]]] = defaultdict(list)
        self._stale_overlaps: dict[Hold, list[tuple[int, int, Hold]]] = {}

    def _at(self, time: int) -> str:
        return f"{(time - self._origin) / 1e9:.3f} s"

    def overlap(self, first: Hold, second: Hold, start: int, end: int) -> None:
        """Classify the overlap of two beliefs, from its first moment to its last."""
        if self._server is not None:
            self._overlapping[first].append((end, second))
            self._overlapping[second].append((end, first))
        who = f"c{first.client} and c{second.client}"
        sessions = {first.session, second.session}
        server = self._server
        missing = sorted(str(s) for s in sessions if server is None or not server.tells(s, start))
        if server is None or missing:
            if len(self.result.unknown) < MOST_TOLD:
                self.result.unknown.append(
                    f"{who} both believed that they held the {self._thing} between "
                    f"{self._at(start)} and {self._at(end)}, but the servers' logs do not tell "
                    f"when their sessions ended ({', '.join(missing)})"
                )
            return
        ends = {hold: server.ended(hold.session) for hold in (first, second)}
        lived_until = min((e.time for e in ends.values() if e is not None), default=None)
        # The certain overlap ends where one of the sessions may have ended unseen.
        end = int(min([end, *(server.told_until(session, start) for session in sessions)]))
        anomaly = Anomaly(
            kind="split-brain",
            description="",
            ops=sorted({*first.ops, *second.ops}),
            clients=[first.client, second.client],
            start=start,
            end=end if lived_until is None else min(end, lived_until),
        )
        if lived_until is None or lived_until > start + self._slack:
            anomaly.length_ms = (anomaly.end - start) / 1e6
            anomaly.description = (
                f"{who} both believed that they held the {self._thing} between {self._at(start)} "
                f"and {self._at(anomaly.end)}"
            ) + ("" if self._believed else ", and both sessions were alive")
            self.result.anomalies.append(anomaly)
            return
        stale = min((first, second), key=lambda hold: e.time if (e := ends[hold]) else end + 1)
        other = second if stale is first else first
        if stale.believed_until <= self._should_know_by(stale, lived_until):
            self._stale_overlaps.setdefault(stale, []).append((start, end, other))

    def crowd(self, crowd: Crowd) -> None:
        """Classify a crowd: split-brain, undecided, or stale beliefs."""
        newest = crowd.members[-1]
        alive: list[tuple[float, Hold]] = []
        untold: list[Hold] = []
        stale: list[tuple[int, Hold]] = []
        for hold, until in zip(crowd.members, crowd.ends, strict=True):
            if hold is not newest:
                self._overlapping[hold].append((min(until, crowd.end), newest))
                self._overlapping[newest].append((min(until, crowd.end), hold))
            server = self._server
            end = server.ended(hold.session) if server is not None else None
            if server is None or not server.tells(hold.session, crowd.start):
                untold.append(hold)
            elif end is not None and end.time <= crowd.start + self._slack:
                stale.append((end.time, hold))
            else:
                sure = min(until, server.told_until(hold.session, crowd.start))
                alive.append((sure if end is None else min(sure, end.time), hold))
        many = f"{len(crowd.members)} clients believed that they held the {self._thing}"
        if len(alive) > self._permits:
            living = [hold for _, hold in alive]
            last = int(sorted((until for until, _ in alive), reverse=True)[self._permits])
            names = ", ".join(sorted(f"c{hold.client}" for hold in living))
            self.result.anomalies.append(
                Anomaly(
                    kind="split-brain",
                    description=(
                        f"{many} between {self._at(crowd.start)} and {self._at(last)}, of which "
                        f"at most {self._permits} may at once"
                    )
                    + ("" if self._believed else f", and the sessions of {names} were alive"),
                    ops=sorted({index for hold in living for index in hold.ops}),
                    clients=sorted({hold.client for hold in living}),
                    start=crowd.start,
                    end=last,
                    length_ms=(last - crowd.start) / 1e6,
                )
            )
        elif len(alive) + len(untold) > self._permits:
            self.result.unknown.append(
                f"{many} at {self._at(crowd.start)}, of which at most {self._permits} may at once, "
                "but the servers' logs do not tell when these sessions ended: "
                f"{', '.join(sorted(f'c{hold.client} ({hold.session})' for hold in untold))}"
            )
        else:
            for expiry, hold in stale:
                if hold.believed_until <= self._should_know_by(hold, expiry):
                    overlap = (crowd.start, min(hold.believed_until, crowd.end), newest)
                    self._stale_overlaps.setdefault(hold, []).append(overlap)

    def stale_beliefs(self) -> None:
        """One anomaly for each stale hold, however many others held meanwhile."""
        for stale, overlapped in self._stale_overlaps.items():
            session_end = self._server.ended(stale.session) if self._server else None
            assert session_end is not None, "only a session that has ended is stale"
            start, _, other = overlapped[0]
            end = max(end for _, end, _ in overlapped)
            length = (end - start) / 1e6
            frozen = " (its process was frozen)" if stale.pauses else ""
            more = f" and {len(overlapped) - 1} more after it" if len(overlapped) > 1 else ""
            self.result.anomalies.append(
                Anomaly(
                    kind="stale-belief",
                    description=(
                        f"c{stale.client} went on believing that it held the {self._thing} for "
                        f"{length:.0f} ms after c{other.client} had been granted it at "
                        f"{self._at(start)}{more}; its session had ended at "
                        f"{self._at(session_end.time)}{frozen}"
                    ),
                    ops=sorted({*stale.ops, *other.ops}),
                    clients=sorted({stale.client, *(hold.client for _, _, hold in overlapped)}),
                    start=start,
                    end=end,
                    length_ms=length,
                )
            )

    def _should_know_by(self, hold: Hold, expiry: int) -> int:
        """Until when a stale holder may believe: its expiry or resumption, and the tolerance."""
        known_by = expiry
        for start, end in hold.pauses:
            if start <= known_by + self._tolerance and end > known_by:
                known_by = end
        return known_by + self._tolerance

    def lateness(self, hold: Hold, expiry: int) -> None:
        """Report a belief that outlived its session by more than the tolerance allows."""
        should = self._should_know_by(hold, expiry)
        if hold.believed_until <= should:
            return
        meanwhile = [other for end, other in self._overlapping.get(hold, ()) if end > expiry]
        names = ", ".join(sorted({f"c{other.client}" for other in meanwhile})) or "nobody"
        self.result.anomalies.append(
            Anomaly(
                kind="unaware-holder",
                description=(
                    f"c{hold.client} still believed at {self._at(hold.believed_until)} that it "
                    f"held the {self._thing}, although its session had ended at "
                    f"{self._at(expiry)} and its process was running: it should have known by "
                    f"{self._at(should)} (others that believed meanwhile: {names})"
                ),
                ops=sorted({*hold.ops, *(index for other in meanwhile[:3] for index in other.ops)}),
                clients=sorted({hold.client, *(other.client for other in meanwhile)}),
                start=expiry,
                end=hold.believed_until,
                length_ms=(hold.believed_until - expiry) / 1e6,
            )
        )

    def untold_lateness(self) -> None:
        """Note as unknown long beliefs without an acknowledged release and a known session end."""
        for hold in self._holds:
            long = hold.believed_until - hold.granted > self._tolerance
            told = self._server and self._server.tells(
                hold.session, hold.believed_until - self._tolerance
            )
            if long and not told and not hold.released:
                self.result.unknown.append(
                    f"c{hold.client} believed from {self._at(hold.granted)} to "
                    f"{self._at(hold.believed_until)} that it held the {self._thing}, but the "
                    "servers' logs do not tell whether its session had ended meanwhile"
                )

    def actions(self) -> None:
        """Actions of stale holders: accepted after a later holder had acted, or refused.

        Only later holders whose hold excludes the stale one count. Where several may hold at
        once, a stale holder's action is harmful while ``permits`` others hold and have acted.
        """
        # Of the holds granted later, the one that acted first; and the same of exclusive ones.
        later: tuple[int, Hold] | None = None
        excluding: tuple[int, Hold] | None = None
        for hold in sorted(
            (hold for hold in self._holds if hold.acts), key=lambda h: h.granted, reverse=True
        ):
            refused = [act for act in hold.acts if not act.value["accepted"]]
            if refused:
                self._action("fenced", hold, refused, "the fence refused")
            end = self._server.ended(hold.session) if self._server is not None else None
            other = excluding if hold.shared else later
            if end is not None and self._permits > 1:
                self._crowded_actions(hold, end.time + CLOCK_SLACK_NS)
            elif end is not None and other is not None:
                since = max(end.time + CLOCK_SLACK_NS, other[0])
                harmful = [act for act in hold.acts if act.value["accepted"] and act.time > since]
                if harmful:
                    anomaly = self._action("stale-action", hold, harmful, "the resource accepted")
                    anomaly.clients.append(other[1].client)
                    anomaly.ops.append(other[1].acts[0].index)
            if later is None or hold.acts[0].time < later[0]:
                later = (hold.acts[0].time, hold)
            if not hold.shared and (excluding is None or hold.acts[0].time < excluding[0]):
                excluding = (hold.acts[0].time, hold)

    def _crowded_actions(self, stale: Hold, expired: int) -> None:
        """Actions after the expiry, while ``permits`` others believed and had acted."""
        late = [act for act in stale.acts if act.value["accepted"] and act.time > expired]
        if not late:
            return
        harmful = []
        for act in late:
            others = {
                hold.client
                for hold in self._holds
                if hold.client != stale.client
                and hold.acts
                and hold.acts[0].time < act.time
                and any(start <= act.time < end for start, end in hold.beliefs)
            }
            if len(others) >= self._permits:
                harmful.append(act)
        if harmful:
            self._action("stale-action", stale, harmful, "the resource accepted")

    def _action(self, kind: str, hold: Hold, acts: Sequence[Op], did: str) -> Anomaly:
        token = f" (token {hold.token})" if hold.token is not None else ""
        anomaly = Anomaly(
            kind=kind,
            description=(
                f"{did} {counted(len(acts), 'action')} of c{hold.client}{token} from "
                f"{self._at(acts[0].time)} on, when its hold of the {self._thing} was stale"
            ),
            ops=[*hold.ops, *(act.index for act in acts[:5])],
            clients=[hold.client],
            start=acts[0].time,
            end=acts[-1].time,
        )
        self.result.anomalies.append(anomaly)
        return anomaly

    def double_grants(self) -> None:
        """More sessions that own at once than may, by the zxids in the servers' logs."""
        if self._server is None:
            return
        clients = {session: f"c{client}" for session, client in self._clients.items()}
        clients |= {hold.session: f"c{hold.client}" for hold in self._holds if hold.session}
        standing: list[Ownership] = []
        for owner in sorted(self._server.owners, key=lambda o: o.grant):
            standing = [o for o in standing if o.loss is None or o.loss > owner.grant]
            others = {
                o.session: o
                for o in standing
                if o.session != owner.session and not (o.shared and owner.shared)
            }
            if len(others) >= self._permits:
                first = min(others.values(), key=lambda o: o.grant)
                self.result.anomalies.append(
                    Anomaly(
                        kind="double-grant",
                        description=(
                            f"{first.path} of session {first.session} "
                            f"({clients.get(first.session, 'no client known')}) owned the "
                            f"{self._thing} since zxid 0x{first.grant:x}"
                            + (f", and {len(others) - 1} more did," if len(others) > 1 else "")
                            + f" when {owner.path} of "
                            f"session {owner.session} "
                            f"({clients.get(owner.session, 'no client known')}) came to own it "
                            f"too, at {self._at(owner.start)} (zxid 0x{owner.grant:x})"
                        ),
                        start=owner.start,
                        end=max(first.end or owner.start, owner.start),
                    )
                )
            standing.append(owner)
