"""Which znodes own, where a recipe does not say: derived from the znodes that its grants make.

A grant leaves something on the servers: an ephemeral znode, made in the session of the answer
between the call of acquire and its return, that stays until release is called. Znodes of an inner
lock, or of a queue that is left before the return, do not stay. Znodes with the same parent are a
candidate for a line if most grants have one. Of several candidates, the one that grants make last
counts: a contender takes its place first, and what it is granted last.

A candidate is believed only if the grants bear it out, because a wrong line would accuse a sound
recipe:

- ``sequential``: nearly every grant came when its znode was among the lowest that may own.
- ``pool``: the znodes are made by being granted, not by waiting. So calls that are refused make
  none. Nor is such a znode made while all permits are taken, for a grant that comes when one is
  free again. Nothing else has their parent.
- ``single``: all grants make the same path. It has one owner at a time, whatever it means.

That the grants bear out a line does not mean that each of them was right.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, ServerView, sequence_number
from rumpus.checker.timeline.server_view import server_view

MOST: Final = 0.75
"""The share of grants that must have made a znode of the line: a flaw may show in the others."""

IN_TURN: Final = 0.9
"""The share of grants in a sequential line whose znode must have been among the lowest."""

REFUSED: Final = 0.25
"""The share of refused calls that may have made a znode of a pool."""

BY_CHANCE: Final = 0.1
"""The share of a pool's znodes whose random names may end like sequence numbers."""

LEAST: Final = 2
"""How many grants must have made one."""

DIGITS: Final = 10
"""How many digits a sequence number has."""


_Place = tuple[str, bool]
"""The parent of znodes, and whether their names end in sequence numbers."""


class DerivedLine(NamedTuple):
    """A line of contenders, as ``server_view`` takes it, and the znode of each grant in it.

    ``nodes``: the number of a hold among those given -> its znode.
    """

    kind: Literal["sequential", "pool", "single"]
    path: str
    mark: str
    nodes: Mapping[int, ZnodeLife]
    shared: str = ""


def derive_line(
    truth: ServerTruth,
    clock: WallClock,
    history: History,
    holds: Sequence[Hold],
    words: Words,
    *,
    path: str,
    permits: int = 1,
) -> DerivedLine | str:
    """The line of contenders that the grants show; or in words why they show none. O(n log n).

    Args:
        truth: what was committed.
        clock: converts the servers' times to the run's clock.
        history: the run.
        holds: its holds.
        words: names of the operations.
        path: what is below this znode counts.
        permits: how many may own at once.
    """
    made = _MadeBySessions(truth, clock, path, history.clients_of_sessions())
    told = [number for number, hold in enumerate(holds) if hold.session is not None]
    likely = _candidates(made, holds, told)
    for parent, numbered in _last_made(likely, told):
        lives = likely[parent, numbered]
        paths = {life.path for life in lives.values()}
        if numbered:
            mark = _mark(paths)
            view = server_view(
                truth, clock, kind="sequential", path=parent, mark=mark, permits=permits
            )
            if _in_turn(view, holds, lives, history.end):
                return DerivedLine("sequential", parent, mark, lives)
        elif len(paths) == 1:
            return DerivedLine("single", next(iter(paths)), "", lives)
        elif _is_pool(truth, made, history, holds, lives, words, parent, permits):
            return DerivedLine("pool", parent, "", lives)
    if not told:
        return "no grant names its session"
    if not likely:
        return f"most grants made no ephemeral znode below {path} that stayed until the release"
    places = ", ".join(sorted(parent or "/" for parent, _ in likely))
    return f"clients made their znodes in {places} before they were granted, and in no order"


def _candidates(
    made: "_MadeBySessions", holds: Sequence[Hold], told: Sequence[int]
) -> dict[_Place, dict[int, ZnodeLife]]:
    """Where most grants made a znode -> the number of each such grant -> its znode.

    ``told``: the numbers of the holds whose session is known.
    """
    candidates: dict[_Place, dict[int, ZnodeLife]] = defaultdict(dict)
    for number in told:
        for life in made.kept(holds[number]):
            parent, _, name = life.path.rpartition("/")
            candidates[parent, sequence_number(name) >= 0][number] = life
    return {
        place: lives
        for place, lives in candidates.items()
        if len(lives) >= max(LEAST, MOST * len(told))
    }


def _last_made(
    likely: Mapping[_Place, Mapping[int, ZnodeLife]], told: Sequence[int]
) -> list[_Place]:
    """The places whose znode a grant made last, first the one of most grants."""
    last = Counter(
        max(there, key=lambda place: likely[place][number].czxid)
        for number in told
        if (there := [place for place in likely if number in likely[place]])
    )
    return [place for place, _ in last.most_common()]


class _MadeBySessions:
    """The ephemeral znodes below a path, by the session that made them, in order of time."""

    def __init__(
        self, truth: ServerTruth, clock: WallClock, path: str, clients: Mapping[str, int]
    ) -> None:
        self._clock = clock
        self.sessions: dict[int, list[str]] = defaultdict(list)
        """Those of each client."""
        for session, client in clients.items():
            self.sessions[client].append(session)
        self._lives: dict[str, list[tuple[int, ZnodeLife]]] = defaultdict(list)
        for life in truth.znodes(path):
            if life.owner is not None:
                self._lives[life.owner].append((clock.monotonic(life.created_ms), life))
        for lives in self._lives.values():
            lives.sort(key=lambda made: (made[0], made[1].czxid))

    def between(self, session: str, start: int, end: int) -> Iterator[ZnodeLife]:
        """Those that a session made in a span of time (ns), give or take the clocks' slack."""
        lives = self._lives.get(session, [])
        for place in range(
            bisect_left(lives, start - CLOCK_SLACK_NS, key=lambda made: made[0]), len(lives)
        ):
            time, life = lives[place]
            if time > end + CLOCK_SLACK_NS:
                return
            yield life

    def kept(self, hold: Hold) -> list[ZnodeLife]:
        """Those made in the call of a grant that nobody deleted before its release was called.

        A program may ask in sessions of its own, of which its answer says nothing: in others than
        the hold's, they must have been there when it was granted.
        """
        assert hold.session is not None, "it is told"
        if lives := list(self._kept_in(hold.session, hold)):
            return lives
        return [
            life
            for session in self.sessions[hold.client]
            for life in self._kept_in(session, hold)
            if (end := self.end(life)) is None or end > hold.granted
        ]

    def _kept_in(self, session: str, hold: Hold) -> Iterator[ZnodeLife]:
        until = hold.believed_until if hold.release_called is None else hold.release_called
        for life in self.between(session, hold.called, hold.granted):
            ended = self.end(life)
            taken = life.how in ("expired", "closed")
            if taken or ended is None or ended >= until - CLOCK_SLACK_NS:
                yield life

    def end(self, life: ZnodeLife) -> int | None:
        """When a znode was gone (ns on the run's clock); None: never."""
        return None if life.deleted_ms is None else self._clock.monotonic(life.deleted_ms)


def _mark(paths: Collection[str]) -> str:
    """What the names of all these znodes contain just before their sequence numbers."""
    stems = [path.rpartition("/")[2][:-DIGITS][::-1] for path in paths]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*stems, strict=False))
    return "".join(letters[0] for letters in same)[::-1]


def _in_turn(
    view: ServerView, holds: Sequence[Hold], lives: Mapping[int, ZnodeLife], end: int
) -> bool:
    """Whether nearly every grant came when its znode was among the lowest that may own."""
    turns = {owner.czxid: owner.start for owner in view.owners}
    in_turn = sum(
        turns.get(life.czxid, end) <= holds[number].granted + CLOCK_SLACK_NS
        for number, life in lives.items()
    )
    return in_turn >= IN_TURN * len(lives)


def _is_pool(
    truth: ServerTruth,
    made: _MadeBySessions,
    history: History,
    holds: Sequence[Hold],
    lives: Mapping[int, ZnodeLife],
    words: Words,
    parent: str,
    permits: int,
) -> bool:
    """Whether the znodes with this parent are made by being granted; see the module."""
    children = [
        life for life in truth.znodes(f"{parent}/") if life.path.rpartition("/")[0] == parent
    ]
    if not all(life.owner for life in children):
        return False
    # One name of hexadecimal digits in a hundred ends like a sequence number.
    if sum(sequence_number(life.path) >= 0 for life in children) > BY_CHANCE * len(children):
        return False
    refused = marked = 0
    for operation in history.operations():
        call, done = operation
        if call.f == words.acquire and done is not None and done.type == "fail":
            refused += 1
            marked += any(
                life.path.rpartition("/")[0] == parent
                for session in made.sessions[history.caller(operation)]
                for life in made.between(session, call.time, done.time)
            )
    if marked > REFUSED * refused:
        return False
    waited = at_once = 0
    numbers = {life.czxid: number for number, life in lives.items()}
    there: list[ZnodeLife] = []
    for life in children:
        there = [
            other
            for other in there
            if other.deleted_zxid is None or other.deleted_zxid > life.czxid
        ]
        if len(there) >= permits and life.czxid in numbers:
            granted = holds[numbers[life.czxid]].granted
            still = sum((end := made.end(other)) is None or end > granted for other in there)
            waited += still < permits
            at_once += still >= permits
        there.append(life)
    return waited <= at_once
