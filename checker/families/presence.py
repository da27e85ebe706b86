"""Service discovery: are exactly the registered addresses listed, each once?

Operations: ``register`` {address}, ``deregister`` {address}, ``discover`` -> {addresses, settled},
``look`` -> {addresses}, and in the final phase ``gather`` -> {discovered, seen}. Each registration
has an address of its own; only repeated calls for the same registration share one.

**During the load** the servers' logs say when an address had an entry. A client that writes before
it reads (``settled``) sees every committed transaction that a leader had begun by the time of its
call: its own write has a larger zxid. So an entry that was gone by then must not be listed, and one
that existed by then and for the whole call must be. No session makes a second entry for an address,
a ``register`` is acknowledged only if the entry existed, and a ``deregister`` only once none of its
client's entries is left. Nodes whose fate differs between
servers (``ServerTruth.forked``, ``uncertain``) are left out.

**In the final phase** every client registers or deregisters, and the sessions of dead clients have
had time to expire: discovered and watched lists must be exactly the registered addresses.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import STUCK_WAITER, healed_phase
from rumpus.checker.families.convergence import STALE_VIEW
from rumpus.checker.history import History, Operation
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

GHOST_ENTRY = Kind("ghost-entry", "a member was listed after it had gone")
MISSING_ENTRY = Kind("missing-entry", "a member that was there was not listed")


@check("lists", finds=[GHOST_ENTRY, MISSING_ENTRY])
def check_lists(timeline: Timeline) -> CheckResult:
    """``ghost-entry`` for an address that a list names twice, discovered or seen."""
    history = timeline.history
    result = CheckResult(name="lists")
    lists = 0
    for operation, done in history.answered("discover", "look", "gather"):
        value = done.value
        for field in ("addresses", "discovered", "seen"):
            names = value.get(field) or []
            lists += field in value
            twice = sorted(name for name, times in Counter(names).items() if times > 1)
            if twice:
                what = f"{', '.join(twice)} was more than once in a list"
                result.anomalies.append(anomaly_of(history, "ghost-entry", what, operation))
    result.stats = {"lists": lists}
    return result


@check("discovery", finds=[GHOST_ENTRY, MISSING_ENTRY])
def check_discovery(timeline: Timeline) -> CheckResult:
    """Compare what ``discover`` listed with the servers' logs; see the module."""
    history, truth, clock, path = timeline.history, timeline.truth, timeline.clock, timeline.path
    result = CheckResult(name="discovery")
    if truth is None or clock is None:
        result.unknown.append("without the servers' logs it is unknown who was there")
        return result
    lives, unsure = _lives(truth, clock, path)
    if not truth.reasons:
        _check_registrations(history, lives, unsure, result)
    _check_deregistrations(history, lives, result)
    judged = 0
    for operation, done in history.answered("discover"):
        if not done.value.get("settled"):
            continue  # read from a server that may lag
        judged += 1
        called = operation.invoke.time - CLOCK_SLACK_NS
        returned = done.time + CLOCK_SLACK_NS
        listed = set(done.value["addresses"])
        for address in sorted(listed & lives.keys()):
            if not _at_some_time(lives[address], called, returned):
                what = f"{address} was listed, although it was not there at any time of the call"
                result.anomalies.append(anomaly_of(history, "ghost-entry", what, operation))
        for address, life in _throughout(lives, operation.invoke.time, returned):
            if address in listed:
                continue
            what = (
                f"{address} ({life.path}, zxid 0x{life.czxid:x}) was there before "
                "and throughout the call, but was not listed"
            )
            if truth.reasons and life.deleted_zxid is None:
                result.unknown.append(f"{what}; but the servers' logs are not complete")
            else:
                result.anomalies.append(anomaly_of(history, "missing-entry", what, operation))
    for address, spans in lives.items():
        result.anomalies += [
            _second_entry(life, address, clock)
            for life in _made_again([life for _, _, life in spans])
        ]
    result.stats = {"discoveries": judged, "entries": sum(map(len, lives.values()))}
    return result


Span = tuple[int, int | None, ZnodeLife]
"""When a node was created, when it was removed (nanoseconds; None: never), and the node."""


def _lives(
    truth: ServerTruth, clock: WallClock, path: str
) -> tuple[dict[str, list[Span]], set[str]]:
    """Address -> when it was there; and the addresses of which the logs do not tell that."""
    doubtful = truth.contested()
    lives: dict[str, list[Span]] = defaultdict(list)
    unsure: set[str] = set()
    for life in truth.znodes(path):
        if life.path == path or life.data is None:
            continue
        address = life.data.decode(errors="replace")
        if life.path in doubtful or life.how == "unlogged":
            unsure.add(address)
        gone = clock.monotonic(life.deleted_ms) if life.deleted_ms is not None else None
        lives[address].append((clock.monotonic(life.created_ms), gone, life))
    return {address: lives[address] for address in lives if address not in unsure}, unsure


def _at_some_time(spans: Iterable[Span], called: int, returned: int) -> bool:
    """Whether a node was there at any time of a call."""
    return any(born <= returned and (gone is None or gone >= called) for born, gone, _ in spans)


def _throughout(
    lives: Mapping[str, Iterable[Span]], called: int, returned: int
) -> Iterator[tuple[str, ZnodeLife]]:
    """The addresses that were there before and throughout a call, each with its first such node."""
    for address, spans in lives.items():
        for born, gone, life in spans:
            if born + 2 * CLOCK_SLACK_NS < called and (gone is None or gone > returned):
                yield address, life
                break


def _check_registrations(
    history: History, lives: dict[str, list[Span]], unsure: set[str], result: CheckResult
) -> None:
    """An acknowledged ``register`` had an entry at some moment of the call."""
    for operation, done in history.answered("register"):
        address = done.value["address"]
        called = operation.invoke.time - CLOCK_SLACK_NS
        returned = done.time + CLOCK_SLACK_NS
        there = _at_some_time(lives.get(address, ()), called, returned)
        if not there and address not in unsure:
            what = f"{address} was told that it is registered, but had no entry during the call"
            result.anomalies.append(anomaly_of(history, "missing-entry", what, operation))


def _check_deregistrations(
    history: History, lives: dict[str, list[Span]], result: CheckResult
) -> None:
    """When a ``deregister`` was acknowledged nothing was left of what its client had registered.

    Each registration has an address of its own, so it does not come again. A process that was
    started again knows nothing of what the one before had registered.
    """
    registered: dict[int, dict[str, int]] = defaultdict(dict)
    exits: dict[int, int] = {}
    started = [(op.time, op.value["client"]) for op in history.events("session", "exited")][::-1]
    for operation in history.operations():
        call, done = operation
        client = history.caller(call)
        while started and started[-1][0] <= call.time:
            time, exited = started.pop()
            exits[exited] = time
        if call.f == "register":
            registered[client][call.value["address"]] = call.time
        elif call.f == "deregister" and done is not None and done.type == "ok":
            left = done.time + CLOCK_SLACK_NS
            result.anomalies += [
                anomaly_of(
                    history,
                    "ghost-entry",
                    f"c{client} was told that it is not registered any more, but {life.path} "
                    f"({address}) was still there",
                    operation,
                )
                for address, called in sorted(registered.pop(client, {}).items())
                if called > exits.get(client, -1)
                for born, gone, life in lives.get(address, ())
                if born <= done.time and (gone is None or gone > left)
            ]


def _made_again(lives: list[ZnodeLife]) -> Iterator[ZnodeLife]:
    """Entries whose session had one for the same address at that time, by the order of zxids."""
    for later in lives:
        for earlier in lives:
            if (
                earlier.created_by == later.created_by
                and earlier.czxid < later.czxid
                and (earlier.deleted_zxid is None or earlier.deleted_zxid > later.czxid)
            ):
                yield later
                break


def _second_entry(life: ZnodeLife, address: str, clock: WallClock) -> Anomaly:
    """An entry whose session had one for the same address already."""
    return Anomaly(
        kind="ghost-entry",
        description=(
            f"{life.path} was created for {address} by session {life.created_by}, "
            "whose earlier entry for it was still there"
        ),
        start=clock.monotonic(life.created_ms),
        end=clock.monotonic(life.deleted_ms or life.created_ms),
    )


@check("presence", finds=[STALE_VIEW, STUCK_WAITER])
def check_presence(timeline: Timeline) -> CheckResult:
    """Judge the final phase; see the module."""
    history = timeline.history
    result = CheckResult(name="presence")
    asked = "clients that listed everybody once every fault was healed"
    phase = healed_phase(history, result, asked)
    if phase is None:
        return result
    there: dict[int, str | None] = {}
    told: set[int] = set()
    silent: dict[int, str] = {}
    for operation in phase.operations:
        client, done = history.caller(operation), operation.completion
        why = (done or operation.invoke).error or "no answer"
        if operation.invoke.f in ("register", "deregister"):
            if operation.outcome == "ok" and done is not None:
                registered = operation.invoke.f == "register"
                there[client] = done.value["address"] if registered else None
            else:
                what = f"c{client} could not {operation.invoke.f} with every fault healed ({why})"
                result.anomalies.append(anomaly_of(history, "stuck-waiter", what, operation))
        elif operation.invoke.f == "gather":
            if operation.outcome == "ok":
                told.add(client)
                _compare(history, operation, {name for name in there.values() if name}, result)
            else:
                silent[client] = why
    phase.asked.observed = len(told | silent.keys())
    result.unknown += [
        f"c{client} could not list who is there ({silent[client]})"
        for client in sorted(silent.keys() - told)
    ]
    result.stats = {"gathered": len(told)}
    return result


def _compare(history: History, gathered: Operation, there: set[str], result: CheckResult) -> None:
    """Compare what one client listed and saw with the registered addresses."""
    listed, seen = (set(gathered.done.value[field]) for field in ("discovered", "seen"))
    for address in sorted(listed - there):
        what = f"{address} was listed after it had left, or its session had had time to expire"
        result.anomalies.append(anomaly_of(history, "ghost-entry", what, gathered))
    for address in sorted(there - listed):
        what = f"{address} was not listed, although its registration was acknowledged"
        result.anomalies.append(anomaly_of(history, "missing-entry", what, gathered))
    if seen not in (there, listed):
        what = (
            f"c{history.caller(gathered)}'s view still showed {_names(seen - there)} after they "
            f"had gone, and did not show {_names(there - seen)}"
        )
        result.anomalies.append(anomaly_of(history, "stale-view", what, gathered))


def _names(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(addresses)) or "nobody"
