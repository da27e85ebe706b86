"""Whether observers were told the truth about their leader: who leads, and whether it knows it.

Each term of a leader has an epoch: the czxid of its node in the line. A leader acknowledges its
epoch by writing a znode. There are two sources. The history says who campaigned with success, when
a leader began to act (and so called to acknowledge), and what observers saw. The servers' logs say
when acknowledgements were made and removed, and by whom, and when each node was first in line.

Observers ask for fresh answers, so epochs are linearizable as a register that only grows: an
observation that was called after another one, or a leader's acknowledgement, had returned shows
no older epoch. One pass in order of time, O(n log n); compare ``checker.exclusion.grants``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import Least, check
from rumpus.checker.history import History, Operation
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS, Ownership
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.value_shapes import whole_number
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

FALSE_ACKNOWLEDGEMENT = Kind(
    "false-acknowledgement", "a leader was acknowledged that did not lead or did not know it yet"
)
LOST_ACKNOWLEDGEMENT = Kind(
    "lost-acknowledgement",
    "a leader's acknowledgement was not written, or another deleted it",
    logs=True,
)
EPOCH_REGRESSION = Kind("epoch-regression", "an older leader was seen after a newer one had been")


@dataclass(frozen=True)
class _Told:
    """An operation between whose call and return a client learned that an epoch has begun."""

    epoch: int
    operation: Operation

    @property
    def called(self) -> int:
        return self.operation.invoke.time

    @property
    def returned(self) -> int:
        return self.operation.done.time


_OF_OBSERVERS = {
    FALSE_ACKNOWLEDGEMENT.name,
    LOST_ACKNOWLEDGEMENT.name,
    EPOCH_REGRESSION.name,
    "false-observation",  # of ``leader_sights``, which imports this module
}


@check(
    "observations",
    finds=[FALSE_ACKNOWLEDGEMENT, EPOCH_REGRESSION],
    least=[Least(10, "of one that had acknowledged", "acknowledged leaders observed")],
)
def check_observations(
    timeline: Timeline, *, campaign: str, lead: str, observe: str
) -> CheckResult | None:
    """Judge what observers saw, by the history alone; None if the recipe promises nothing of it.

    Args:
        timeline: the run.
        campaign: the operation whose ok has the epoch as ``token``.
        lead: the operation with which a leader acknowledges; its value says ``acknowledged``
            (the epoch) when that was confirmed.
        observe: its ok has ``epoch``, ``name`` and ``acknowledged`` (true or false), or null.
    """
    if timeline.promises.prevents.isdisjoint(_OF_OBSERVERS):
        return None  # a recipe of another repository, whose leaders nobody observes
    history = timeline.history
    result = CheckResult(name="observations")
    leaders: dict[int, int] = {}
    led: dict[int, str] = {}
    said: dict[int, int] = {}
    told: list[_Told] = []
    seen: list[_Told] = []
    for operation in history.operations():
        call, done = operation
        process = int(call.process)
        value = done.value if done is not None and isinstance(done.value, dict) else {}
        if call.f == campaign and operation.outcome == "ok" and value.get("token") is not None:
            leaders[process] = value["token"]
            led[value["token"]] = f"c{history.client_of(process)}"
        elif call.f == lead and process in leaders:
            said.setdefault(leaders[process], call.time)
            if value.get("acknowledged") is not None:
                told.append(_Told(value["acknowledged"], operation))
        elif call.f == observe and operation.outcome == "ok" and value:
            seen.append(_Told(value["epoch"], operation))
    for sight in seen:
        _believe(history, sight, led, said, result)
    _in_order(history, told, seen, result)
    result.stats = {
        "observations of a leader": len(seen),
        "of one that had acknowledged": sum(_value(sight)["acknowledged"] for sight in seen),
    }
    return result


def _value(sight: _Told) -> dict[str, object]:
    value: dict[str, object] = sight.operation.done.value
    return value


def _believe(
    history: History, sight: _Told, led: dict[int, str], said: dict[int, int], result: CheckResult
) -> None:
    """A leader that was seen as acknowledged had campaigned with success, and had begun to act."""
    value = _value(sight)
    if not value["acknowledged"]:
        return
    since = said.get(sight.epoch)
    if since is not None and since <= sight.returned and led[sight.epoch] == value["name"]:
        return
    if since is None or since > sight.returned:
        why = "which had not" if sight.epoch in led else "which never learned that it led"
    else:
        why = f"although {led[sight.epoch]} was the leader of that epoch"
    result.anomalies.append(
        anomaly_of(
            history,
            "false-acknowledgement",
            f"c{_client(history, sight)} was told at {at(history, sight.returned)} that "
            f"{value['name']} had acknowledged epoch {sight.epoch}, {why}",
            sight.operation,
        )
    )


def _in_order(
    history: History, told: Sequence[_Told], seen: Sequence[_Told], result: CheckResult
) -> None:
    """No observer sees an older epoch than one that a client knew before the observer's call."""
    events = sorted(
        [(sight.called, 0, number) for number, sight in enumerate(seen)]
        + [(each.returned, 1, number) for number, each in enumerate([*seen, *told])]
    )
    known = [*seen, *told]
    newest: _Told | None = None
    for _, returned, number in events:
        if returned:
            if newest is None or known[number].epoch > newest.epoch:
                newest = known[number]
        elif newest is not None and seen[number].epoch < newest.epoch:
            sight = seen[number]
            result.anomalies.append(
                Anomaly(
                    kind="epoch-regression",
                    description=(
                        f"c{_client(history, sight)} looked at {at(history, sight.called)} and "
                        f"saw epoch {sight.epoch}, although c{_client(history, newest)} knew of "
                        f"epoch {newest.epoch} at {at(history, newest.returned)}"
                    ),
                    ops=[*newest.operation.indices, *sight.operation.indices],
                    clients=sorted({_client(history, sight), _client(history, newest)}),
                    start=newest.returned,
                    end=sight.returned,
                )
            )


def acknowledgements_of(truth: ServerTruth, path: str) -> list[tuple[int, ZnodeLife]]:
    """The nodes below ``path`` whose data begins with an epoch, as pairs of epoch and node."""
    lives = [(_epoch(life), life) for life in truth.znodes(path)]
    return [(epoch, life) for epoch, life in lives if epoch is not None]


@check("acknowledgements", finds=[LOST_ACKNOWLEDGEMENT, FALSE_ACKNOWLEDGEMENT])
def check_acknowledgements(
    timeline: Timeline, below: Callable[[str], str], *, lead: str
) -> CheckResult | None:
    """Judge the acknowledgements by the servers' logs.

    Each was made after its epoch's node had become first in line. None was removed by another
    client while its leader's node existed. And a leader that was told that it is acknowledged has
    one. The leader's own client may remove it in a later session: a client that believes its
    session to be over withdraws its acknowledgement, though the session, and with it the leader's
    node, may live on at the servers for a while.

    Args:
        timeline: the run.
        below: the line's parent -> that of the acknowledgements, whose data begins with the epoch.
        lead: the operation whose value says ``acknowledged`` when that was confirmed.
    """
    logs, view, line = timeline.logs, timeline.servers, timeline.line
    if logs is None or view is None or line is None:
        return None
    history, (truth, clock), path = timeline.history, logs, below(line.path)
    result = CheckResult(name="acknowledgements")
    reigns = {owner.czxid: owner for owner in view.owners}
    clients = history.clients_of_sessions()
    acknowledgements = acknowledgements_of(truth, path)
    for epoch, life in acknowledgements:
        reign = reigns.get(epoch)
        if reign is None and (truth.reasons or truth.uncertain or truth.forked):
            result.unknown.append(
                f"{life.path} acknowledges epoch {epoch}, but the servers' logs do not tell "
                "whether that leader's node was ever first in line"
            )
        elif reign is None or life.czxid < reign.grant:
            result.anomalies.append(_made_early(history, epoch, life, reign))
        elif _deleted_early(life, reign):
            _judge_removal(history, epoch, life, reign, clients, result)
    first: dict[int, int] = {}
    for epoch, life in acknowledgements:
        made = clock.monotonic(life.created_ms)
        first[epoch] = min(made, first.get(epoch, made))
    open_to_doubt = any(each.startswith(f"{path}/") for each in truth.contested())
    settled = not truth.reasons and not open_to_doubt
    _written(history, first, lead, result, settled=settled)
    result.stats = {"acknowledgements": len(acknowledgements)}
    return result


def _made_early(history: History, epoch: int, life: ZnodeLife, reign: Ownership | None) -> Anomaly:
    """An acknowledgement made before its leader's node was first in line, if that ever was."""
    never = "whose node was never first in line"
    early = never if reign is None else "whose node was not first in line yet"
    return Anomaly(
        kind="false-acknowledgement",
        description=(
            f"{life.path} of session {life.created_by} was created (zxid "
            f"0x{life.czxid:x}) for epoch {epoch}, {early}"
        ),
        start=history.start,
        end=history.end,
    )


def _judge_removal(
    history: History,
    epoch: int,
    life: ZnodeLife,
    reign: Ownership,
    clients: Mapping[str, int],
    result: CheckResult,
) -> None:
    """An acknowledgement that was deleted while its leader's node existed: by its own client?"""
    owner, remover = (clients.get(s or "") for s in (life.created_by, life.deleted_by))
    if owner is not None and owner == remover:
        return
    what = (
        f"{life.path}, the acknowledgement of epoch {epoch} by {_whose(owner)} (session "
        f"{life.created_by}), was deleted by {_whose(remover)} (session "
        f"{life.deleted_by}, zxid 0x{life.deleted_zxid or 0:x}) while its leader's node "
        "still existed"
    )
    if owner is None or remover is None:
        result.unknown.append(f"{what}; the history does not tell which client had that session")
        return
    result.anomalies.append(
        Anomaly(
            kind="lost-acknowledgement",
            description=what,
            clients=sorted({owner, remover}),
            start=reign.start,
            end=reign.end if reign.end is not None else history.end,
        )
    )


def _written(
    history: History, first: Mapping[int, int], lead: str, result: CheckResult, *, settled: bool
) -> None:
    """For each leader that was told that its epoch is acknowledged, such a node existed by then.

    ``first``: epoch -> when its first acknowledgement was made; ``settled``: whether the logs rule
    out that there were others.
    """
    for operation in history.operations():
        call, done = operation
        value = done.value if done is not None and isinstance(done.value, dict) else {}
        told = value.get("acknowledged")
        if call.f != lead or done is None or told is None:
            continue
        if told in first and first[told] - CLOCK_SLACK_NS <= done.time:
            continue
        client = history.caller(call)
        what = (
            f"c{client} was told by {at(history, done.time)} that its epoch "
            f"{told} is acknowledged, but there was no such node by then"
        )
        if not settled:
            result.unknown.append(f"{what}; the servers' logs do not prove it")
            continue
        result.anomalies.append(anomaly_of(history, "lost-acknowledgement", what, operation))


def _deleted_early(life: ZnodeLife, reign: Ownership) -> bool:
    """Whether a request in another session deleted it before its leader's node was gone."""
    return (
        life.how in ("deleted", "multi")
        and life.deleted_by != life.created_by
        and life.deleted_zxid is not None
        and (reign.loss is None or life.deleted_zxid < reign.loss)
    )


def _whose(client: int | None) -> str:
    return "an unknown client" if client is None else f"c{client}"


def _epoch(life: ZnodeLife) -> int | None:
    return whole_number((life.data or b"").split(b" ")[0])


def _client(history: History, told: _Told) -> int:
    return history.caller(told.operation)
