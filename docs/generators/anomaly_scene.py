"""What the drawing of an anomaly shows: lanes, the lines of its story, and states between them.

Times are nanoseconds since the run's beginning. A scene is plain data, so that it can be kept: the
run that gives it takes seconds, and drawing it takes none.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from docs.generators.anomaly_wire import AUDITOR, WireStory
from docs.generators.scene import CALL, HOLD, LEADS, STOPPED, Row, Scene, Stretch
from rumpus.checker.check import all_kinds, declaration
from rumpus.checker.server_promises.state import check_server_state
from rumpus.checker.timeline.states import Interval
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly
from rumpus.results.pictures.space_time import RESOURCE, SERVERS, events_in
from rumpus.results.story import StoryLine, story_lines

_STATES: Final = {"belief": HOLD, "paused": STOPPED, "dead": STOPPED}
_STOPPING: Final = frozenset({"kill", "pause", "power-off"})
_SERVER: Final = re.compile(r"n\d+")
_ZXID: Final = re.compile(r"0x([0-9a-f]+)")
_BY_SERVERS: Final = "servers: "


def scene_of(timeline: Timeline, anomaly: Anomaly) -> Scene:
    """The scene of an anomaly: of its clients, or of the servers if it is about them."""
    if all_kinds()[anomaly.kind].about == "recipe" or anomaly.ops:
        scene = _of_clients(timeline, anomaly, story_lines(timeline, anomaly))
    elif anomaly.kind in {kind.name for kind in declaration(check_server_state).finds}:
        scene = _of_servers(timeline, anomaly)
    else:
        scene = _of_links(timeline, anomaly)
    return _since(timeline.history.start, scene)


def _of_clients(timeline: Timeline, anomaly: Anomaly, lines: Sequence[StoryLine]) -> Scene:
    clients = {*anomaly.clients, *(line.client for line in lines if line.client is not None)}
    rows = tuple(_row(timeline, line, clients) for line in lines)
    seen = {lane for row in rows for lane in (*row.lanes, row.sender)}
    concerned = tuple(f"c{client}" for client in sorted(set(anomaly.clients)))
    return Scene(
        lanes=(
            *(f"c{client}" for client in sorted(clients)),
            *(lane for lane in (SERVERS, RESOURCE) if lane in seen),
        ),
        rows=rows,
        stretches=tuple(
            each
            for each in (*_calls(timeline, lines), *_states(timeline, clients))
            if any(each.start <= row.time <= each.end for row in rows)
        ),
        anomaly=_time_of(timeline, anomaly),
        concerned=concerned or tuple(f"c{client}" for client in sorted(clients)),
    )


def _row(timeline: Timeline, line: StoryLine, clients: Collection[int]) -> Row:
    time = line.time
    if line.client is None:
        lanes = _stricken(timeline, time, clients)
        return Row(time, line.words, lanes or (SERVERS,), fault=not line.words.startswith(SERVERS))
    own = f"c{line.client}"
    if line.words.startswith(_BY_SERVERS):
        return Row(time, line.words.removeprefix(_BY_SERVERS), (SERVERS,))
    # The line of a call begins at the call, at whose time no message arrives.
    for each in events_in(timeline, [line.client], time, time):
        told = each.lane == own and " is told: " in line.words
        sent = each.lane == SERVERS and " calls " not in line.words
        acts = each.lane == RESOURCE and " acts on " in line.words
        if (told and each.sender) or sent or acts:
            return Row(time, line.words, (each.lane,), each.sender)
    return Row(time, line.words, (own,))


def _stricken(timeline: Timeline, time: int, clients: Collection[int]) -> tuple[str, ...]:
    """The lanes of clients that a fault hit which began or ended then."""
    hit = {
        target
        for fault in timeline.faults
        if time in (fault.in_force or fault.begun, fault.ended)
        for target in fault.targets
    }
    return tuple(f"c{client}" for client in sorted(clients) if f"c{client}" in hit)


def _calls(timeline: Timeline, lines: Sequence[StoryLine]) -> Iterator[Stretch]:
    """The calls that the story tells of, or in which what it tells was done."""
    history = timeline.history
    records = {line.record for line in lines}
    for call in history.operations():
        if not records.isdisjoint(call.indices):
            end = history.end if call.done is None else call.done.time
            yield Stretch(f"c{history.caller(call)}", CALL, call.invoke.time, end)


def _states(timeline: Timeline, clients: Collection[int]) -> Iterator[Stretch]:
    for each in timeline.bars:
        if each.client in clients and each.kind in _STATES:
            yield Stretch(f"c{each.client}", _STATES[each.kind], each.start, each.end)


def _of_links(timeline: Timeline, anomaly: Anomaly) -> Scene:
    """What passed between clients and servers, and the faults meanwhile."""
    rows = WireStory(timeline, anomaly).rows()
    since = min((row.time for row in rows), default=anomaly.start)
    servers = {lane for row in rows for lane in (*row.lanes, row.sender) if _SERVER.fullmatch(lane)}
    for fault in timeline.faults:
        hit = tuple(target for target in fault.targets if target in servers)
        if hit and since <= (time := fault.in_force or fault.begun) <= anomaly.end:
            rows.append(Row(time, f"fault: {fault.kind} {', '.join(hit)}", hit, fault=True))
    rows.sort(key=lambda row: (row.time, row.words))
    lanes = {lane for row in rows for lane in (*row.lanes, row.sender)} - {""}
    ordered = sorted(lanes - {AUDITOR}, key=lambda lane: (lane[0], int(lane[1:])))
    named = [each for each in _SERVER.findall(anomaly.description) if each in lanes]
    return Scene(
        lanes=(*([AUDITOR] if AUDITOR in lanes else []), *ordered),
        rows=tuple(rows),
        anomaly=_time_of(timeline, anomaly),
        concerned=tuple(dict.fromkeys(named)) or tuple(sorted(servers)),
    )


def _of_servers(timeline: Timeline, anomaly: Anomaly) -> Scene:
    """What servers did: who led, which were stopped, and what the anomaly's words name."""
    leaders = [each for each in timeline.bars if each.kind == "leader"]
    rows = [Row(each.start, f"{each.label} leads", (each.label,)) for each in leaders]
    stretches = [Stretch(each.label, LEADS, each.start, each.end) for each in leaders]
    for fault in timeline.faults:
        hit = tuple(target for target in fault.targets if _SERVER.fullmatch(target))
        name = f"{fault.kind} {', '.join(fault.targets)}".strip()
        rows.append(Row(fault.in_force or fault.begun, f"fault: {name}", hit, fault=True))
        if fault.ended is not None:
            rows.append(Row(fault.ended, f"healed: {name}", hit, fault=True))
        if fault.kind in _STOPPING:
            end = timeline.end_of(fault)
            stretches += [Stretch(lane, STOPPED, fault.begun, end) for lane in hit]
    rows += _proposals(timeline, anomaly, leaders)
    rows.sort(key=lambda row: (row.time, row.words))
    lanes = {lane for row in rows for lane in row.lanes} | set(_SERVER.findall(anomaly.description))
    return Scene(
        lanes=tuple(sorted(lanes, key=lambda lane: int(lane[1:]))),
        rows=tuple(rows),
        stretches=tuple(stretches),
        anomaly=_time_of(timeline, anomaly),
        concerned=tuple(dict.fromkeys(_SERVER.findall(anomaly.description))),
    )


def _proposals(timeline: Timeline, anomaly: Anomaly, leaders: Sequence[Interval]) -> Iterator[Row]:
    """The transactions that the anomaly's words name, at the server that led then."""
    if timeline.logs is None:
        return
    truth, clock = timeline.logs
    named = dict.fromkeys(int(zxid, 16) for zxid in _ZXID.findall(anomaly.description))
    every = {txn.zxid: txn for txns in (truth.committed, truth.forked) for txn in txns}
    for zxid in named.keys() & every.keys():
        time = clock.monotonic(every[zxid].time_ms)
        lane = next((each.label for each in leaders if each.start <= time <= each.end), "")
        if lane:
            yield Row(time, f"{lane} logs 0x{zxid:x}", (lane,))


def _time_of(timeline: Timeline, anomaly: Anomaly) -> tuple[int, int] | None:
    known = timeline.history.start < anomaly.start <= anomaly.end
    return (anomaly.start, anomaly.end) if known else None


def _since(origin: int, scene: Scene) -> Scene:
    """The same with times since the run's beginning."""
    moved = msgspec.structs.replace
    began = scene.anomaly
    return moved(
        scene,
        rows=tuple(moved(each, time=each.time - origin) for each in scene.rows),
        stretches=tuple(
            moved(each, start=each.start - origin, end=each.end - origin)
            for each in scene.stretches
        ),
        anomaly=None if began is None else (began[0] - origin, began[1] - origin),
    )
