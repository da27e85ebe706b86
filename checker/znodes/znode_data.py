"""Whether every read returns what the write of its zxid wrote.

**Decided**: whether the writes of the history, each one transaction, can have written the contents
that were read:

- all operations agree on the value and version of one znode at one zxid;
- that content was written by the acknowledged write of that zxid, or by a write of the same value
  of unknown outcome that was called in time, or (only at the lowest zxid of a znode) before the
  history began;
- a znode's versions count its writes.

**Algorithm.** A content that was read and that no acknowledged write wrote is a slot for a write
of unknown outcome of that znode and value. A slot accepts every write called before the slot's zxid
or a higher one was first seen, so the slots of higher zxids accept more writes. From the highest
slot down, each takes the latest call that it accepts, which leaves the earliest calls to the others
(exchange argument: swapping two writes never makes it worse). Versions that are missing between two
zxids are slots for any write of unknown outcome of the znode. The writes that are left over fill
them if and only if, for each zxid, at least as many were called in time as versions are missing up
to there (Hall's theorem on nested sets). Zxids are only compared, not counted, so there is always
room for a transaction that nobody saw.

**Cost**: O(n log n) for sorting.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.wording import who
from rumpus.checker.znodes.znode_operations import NOTHING, Sight, Unknown, ZnodeOperations
from rumpus.checker.znodes.zxid_order import SeenBy, latest_time

Place = tuple[Hashable, int]
"""A znode and a zxid: together they identify one content."""


class _Slot(NamedTuple):
    """A content of one znode that some write of unknown outcome must have written.

    Attributes:
        sight: the content.
        in_time: the write must have been called by then (ns).
        evidence: the row of the operation that proves that.
    """

    sight: Sight
    in_time: int
    evidence: int


def check_znode_data(operations: ZnodeOperations) -> Decision | None:
    """A refusal if an operation shows a content that no write can have written; else None."""
    contents: dict[Place, Sight] = {}
    versions: dict[Place, Sight] = {}
    writer = {write.zxid: write for write in operations.writes}
    for write in operations.writes:
        if write.version and operations.table.function(write.row) == "create":
            return refused(
                [write.row],
                f"{who(operations.table, write.row)} created a node with version {write.version}, "
                "but a node begins with version 0",
            )
    for sight in _sights(operations):
        decision = _disagreement(operations, contents, versions, writer, sight)
        if decision:
            return decision
    seen_by = SeenBy(operations)
    by_key: dict[Hashable, list[Sight]] = defaultdict(list)
    for sight in contents.values():
        by_key[sight.key].append(sight)
    unknown: dict[Hashable, list[Unknown]] = defaultdict(list)
    for lost in operations.unknown:
        # A node is created once, at its lowest zxid, and a slot there needs no writer.
        if operations.table.function(lost.row) != "create":
            unknown[lost.key].append(lost)
    one_znode: dict[int, tuple[Sight, Sight | None]] = {}
    for key, sights in by_key.items():
        sights.sort(key=lambda sight: sight.zxid)
        unused: list[Unknown] = []
        decision = (
            _sharing(operations, one_znode, sights, writer)
            or _unwritten(operations, seen_by, sights, unknown[key], unused, writer)
            or _miscounted(operations, seen_by, sights, versions, unknown[key], unused)
        )
        if decision:
            return decision
    return None


def _sights(operations: ZnodeOperations) -> Iterable[Sight]:
    yield from operations.writes
    yield from (sight for sight in operations.reads if sight.zxid != NOTHING)


def _disagreement(
    operations: ZnodeOperations,
    contents: dict[Place, Sight],
    versions: dict[Place, Sight],
    writer: dict[int, Sight],
    sight: Sight,
) -> Decision | None:
    """A refusal if a sight disagrees with an earlier one of its place; else note it."""
    table, place = operations.table, (sight.key, sight.zxid)
    for name, known in (("value", contents), ("version", versions)):
        own = getattr(sight, name)
        if name == "version" and own is None:
            continue
        other = known.setdefault(place, sight)
        if (others := getattr(other, name)) != own:
            return refused(
                [other.row, sight.row],
                f"zxid {sight.zxid}{_of(sight)} has {name} {others!r} for "
                f"{who(table, other.row)}, but {name} {own!r} for {who(table, sight.row)}",
            )
    written = writer.get(sight.zxid)
    if written is not None and written.key != sight.key:
        return refused(
            [written.row, sight.row],
            f"zxid {sight.zxid} was {who(table, written.row)}'s write of {written.key!r}, but "
            f"{who(table, sight.row)} read that zxid of {sight.key!r}",
        )
    return None


def _sharing(
    operations: ZnodeOperations,
    one_znode: dict[int, tuple[Sight, Sight | None]],
    sights: list[Sight],
    writer: dict[int, Sight],
) -> Decision | None:
    """A refusal if two znodes were written at one zxid, and not both before the history.

    One transaction before the history may have written the lowest contents of several znodes.
    """
    for sight in sights:
        if sight.zxid in writer:
            continue
        lower = None if sight is sights[0] else sights[0]
        other, other_lower = one_znode.setdefault(sight.zxid, (sight, lower))
        if other is not sight and (lower or other_lower):
            table = operations.table
            evidence = [each.row for each in (lower, other_lower) if each]
            return refused(
                [sight.row, other.row, *evidence],
                f"{who(table, other.row)} and {who(table, sight.row)} read zxid {sight.zxid} of "
                f"two nodes, {other.key!r} and {sight.key!r}",
            )
    return None


def _unwritten(
    operations: ZnodeOperations,
    seen_by: SeenBy,
    sights: list[Sight],
    unknown: list[Unknown],
    unused: list[Unknown],
    writer: dict[int, Sight],
) -> Decision | None:
    """A refusal if a content of a znode has no writer; else add the unused writes to ``unused``."""
    slots: dict[Hashable, list[_Slot]] = defaultdict(list)
    for sight in sights[1:]:
        if sight.zxid not in writer:
            first = seen_by.first(sight.zxid)
            assert first is not None
            slots[sight.value].append(_Slot(sight, latest_time(operations, first), first.row))
    pools: dict[Hashable, list[Unknown]] = defaultdict(list)
    for write in sorted(unknown, key=lambda write: write.call):
        pools[write.value].append(write)
    used = set()
    for value, wanted in slots.items():
        pool = pools[value]
        for slot in reversed(wanted):
            while pool and pool[-1].call > slot.in_time:
                pool.pop()
            if not pool:
                same = [each for each in sights if each.value == value]
                written = [each.row for each in same if each.zxid in writer]
                rows = [row for each in wanted for row in (each.sight.row, each.evidence)]
                late = [write.row for write in unknown if write.value == value]
                table, sight = operations.table, slot.sight
                return refused(
                    [sights[0].row, *written, *rows, *late],
                    f"{who(table, sight.row)} read {value!r}{_of(sight)} with zxid {sight.zxid}, "
                    "but no write of that value can have been that transaction",
                )
            used.add(pool.pop().row)
    unused += [write for write in unknown if write.row not in used]
    return None


def _miscounted(
    operations: ZnodeOperations,
    seen_by: SeenBy,
    sights: list[Sight],
    versions: dict[Place, Sight],
    unknown: list[Unknown],
    unused: list[Unknown],
) -> Decision | None:
    """A refusal if a znode's versions do not count its writes; those in ``unused`` may count."""
    table = operations.table
    calls = sorted(write.call for write in unused)
    before: Sight | None = None
    between: list[Sight] = []
    missing = called = 0
    for content in sights:
        sight = versions.get((content.key, content.zxid))
        if sight is None:
            between.append(content)
            continue
        assert sight.version is not None
        last = -1 if before is None or before.version is None else before.version
        gap = sight.version - last - 1 - len(between)
        if gap < 0:
            earlier = [each.row for each in (*([before] if before else []), *between)]
            least = last + 1 + len(between)
            after = f" after version {last} at zxid {before.zxid}" if before else ""
            return refused(
                [*earlier, sight.row],
                f"{who(table, sight.row)} has version {sight.version}{_of(sight)} at zxid "
                f"{sight.zxid}, but{after} it is at least {least}",
            )
        if before is not None and gap:
            missing += gap
            first = seen_by.first(sight.zxid)
            in_time = latest_time(operations, first)
            while called < len(calls) and calls[called] <= in_time:
                called += 1
            if missing > called:
                own = [each for each in (*sights, *versions.values()) if each.key == sight.key]
                firsts = [seen_by.first(each.zxid) for each in sights]
                return refused(
                    [each.row for each in (*own, *firsts, *unknown) if each],
                    f"from version {last} at zxid {before.zxid} to version {sight.version} at "
                    f"zxid {sight.zxid}{_of(sight)} there are more versions than writes that can "
                    "have happened",
                )
        before, between = sight, []
    return None


def _of(sight: Sight) -> str:
    return "" if sight.key is None else f" of {sight.key!r}"
