"""Every read returns what the write of its zxid wrote.

**Decided**: whether the contents that were seen can have been written by the writes of the
history, one transaction each: of one znode and zxid all have seen the same value and version; it
was written by the acknowledged write of that zxid, or by a write of the same value of unknown
outcome that was called in time, or (the lowest zxid of a znode only) by whoever set the stage;
and a znode's versions count its writes.

**Algorithm.** Transactions that were seen but not acknowledged are slots for unknown writes of
that znode and value. A slot takes any write called before the slot's zxid or a higher one was
first seen, so slots of higher zxids take more: from the highest slot down, each takes the latest
call that it can, which leaves the earliest calls to the others (an exchange of two writes never
hurts). Versions that are missing between two zxids are slots for any unknown write of the znode;
what the others left, earliest calls, serves them if and only if for each zxid at least as many
were called in time as versions are missing up to there (Hall's theorem on nested sets). Zxids
are compared and never counted, so there is always room for a transaction that nobody saw.

**Cost**: O(n log n) for sorts.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.wording import who
from rumpus.checker.znodes.znode_operations import NOTHING, Sight, Unknown, ZnodeOperations
from rumpus.checker.znodes.zxid_order import SeenBy, latest_time

Place = tuple[Hashable, int]
"""A znode and a zxid: one content."""


class _Slot(NamedTuple):
    """A content of one znode that some unknown write must have written."""

    sight: Sight
    in_time: int
    evidence: int


def check_znode_data(operations: ZnodeOperations) -> Decision | None:
    """A refusal if somebody read what nobody can have written there; None if nobody did."""
    contents: dict[Place, Sight] = {}
    versions: dict[Place, Sight] = {}
    writer = {write.zxid: write for write in operations.writes}
    for write in operations.writes:
        if write.version and operations.table.function(write.row) == "create":
            return refused(
                [write.row],
                f"{who(operations.table, write.row)} created a node with version {write.version}, "
                "and nodes begin with version 0",
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
        # A node is created once, with what is then its lowest zxid, and that needs no writer.
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
    """A refusal if a sight disagrees with an earlier one of its place; else it is noted."""
    table, place = operations.table, (sight.key, sight.zxid)
    other = contents.setdefault(place, sight)
    if other.value != sight.value:
        return refused(
            [other.row, sight.row],
            f"zxid {sight.zxid}{_of(sight)} was {other.value!r} to {who(table, other.row)} and "
            f"{sight.value!r} to {who(table, sight.row)}",
        )
    if sight.version is not None:
        other = versions.setdefault(place, sight)
        if other.version != sight.version:
            return refused(
                [other.row, sight.row],
                f"zxid {sight.zxid}{_of(sight)} was version {other.version} to "
                f"{who(table, other.row)} and version {sight.version} to {who(table, sight.row)}",
            )
    written = writer.get(sight.zxid)
    if written is not None and written.key != sight.key:
        return refused(
            [written.row, sight.row],
            f"zxid {sight.zxid} was {who(table, written.row)}'s write of {written.key!r}, but "
            f"{who(table, sight.row)} read it of {sight.key!r}",
        )
    return None


def _sharing(
    operations: ZnodeOperations,
    one_znode: dict[int, tuple[Sight, Sight | None]],
    sights: list[Sight],
    writer: dict[int, Sight],
) -> Decision | None:
    """A refusal if an unknown write and some other were one transaction.

    What set the stage (the lowest contents of znodes) may well be one.
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
    """A refusal if a content of a znode has no writer; else ``unused`` gets the writes left."""
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
                    "and no write of it can have been that transaction",
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
    """A refusal if a znode's versions do not count its writes, ``unused`` unknown ones included."""
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
                f"{sight.zxid}, and{after} it is {least} at least",
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
                    f"zxid {sight.zxid}{_of(sight)} more writes are missing than can have "
                    "happened",
                )
        before, between = sight, []
    return None


def _of(sight: Sight) -> str:
    return "" if sight.key is None else f" of {sight.key!r}"
