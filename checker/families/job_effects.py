"""Jobs: each that was submitted has its effect once, and every client that asks learns of it.

Operations: ``submit`` {key}; ``claim`` -> {key, token}; ``complete`` -> {key, undone}; ``await``
{key} -> {key, result: which client did it}; ``forget`` {key}, of one's own job, ok if it is done;
``ask`` {key} -> {key, known: whether there is such a job}; and, once every fault is healed,
``drain``, ``collect`` -> {told: [key], untold: [key]} by each submitter, and ``audit`` ->
{effects: {key: how many}, left: [key]}. A job is judged by its effects (znodes): by those that
``audit`` found at the end, and by those in the servers' logs where these are at hand.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import healed_phase
from rumpus.checker.exclusion.grants import TOKEN_REGRESSION
from rumpus.checker.exclusion.removals import FREED_LIVE_HOLDER, judge_removals, removals
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

LOST_JOB = Kind("lost-job", "a submitted job never had its effect")
REPEATED_EFFECT = Kind("repeated-effect", "a job had its effect twice")
UNNOTIFIED_SUBMITTER = Kind(
    "unnotified-submitter", "a job was done but its submitter never learned of it", timed=True
)
FALSE_COMPLETION = Kind(
    "false-completion", "a client was told that a job was done, but it was not, or by another"
)
DENIED_JOB = Kind(
    "denied-job", "a client was told that a job does not exist although it had been submitted"
)

EFFECTS = "effects"
CLAIMS = "board/claims"
"""The parents of effects and of claims, below a workload's path."""


def effect_makers(timeline: Timeline) -> dict[str, list[str | None]] | None:
    """Key -> the session that made each of its effects that were committed.

    An effect is named after its job's key, with a number behind a colon. None without logs.
    """
    if timeline.truth is None:
        return None
    found: dict[str, list[str | None]] = defaultdict(list)
    for life in timeline.truth.znodes(f"{timeline.path}/{EFFECTS}"):
        key, mark, _ = life.path.rpartition("/")[2].partition(":")
        if mark:
            found[key].append(life.created_by)
    return found


def expired_claims(timeline: Timeline) -> int | None:
    """How many claims, and so jobs, were taken from workers whose sessions had expired.

    Their folder, which is not ephemeral, is no claim though its maker's session may expire.
    """
    if timeline.truth is None:
        return None
    lives = timeline.truth.znodes(f"{timeline.path}/{CLAIMS}")
    return sum(life.how == "expired" for life in lives)


@check("removals", finds=[FREED_LIVE_HOLDER])
def check_freed_claims(timeline: Timeline) -> CheckResult | None:
    """Judge which clients removed claims; None without the servers' logs."""
    if timeline.logs is None:
        return None
    found = removals(*timeline.logs, f"{timeline.path}/{CLAIMS}")
    return judge_removals(timeline.history, found, {})


@check(
    "job effects",
    finds=[
        LOST_JOB,
        REPEATED_EFFECT,
        UNNOTIFIED_SUBMITTER,
        FALSE_COMPLETION,
        DENIED_JOB,
        TOKEN_REGRESSION,
    ],
    least=[Least(20, "effects", "effects"), Least(5, "told", "told")],
)
def check_job_effects(timeline: Timeline) -> CheckResult:
    """Judge the effects, and whether submitters were told of them."""
    makers = timeline.part(effect_makers)
    history = timeline.history
    result = CheckResult(name="job effects")
    logged = {key: len(sessions) for key, sessions in (makers or {}).items()}
    operations = history.operations()
    submitted = {o.invoke.value["key"]: o for o in operations if o.invoke.f == "submit"}
    seen = [done for o in operations if (done := _ok(o)) is not None and done.f == "audit"]
    effects = Counter(logged)
    for look in seen:
        effects |= Counter(look.value["effects"])
    for key, count in sorted(effects.items()):
        if count > 1:
            result.anomalies.append(
                _anomaly(history, "repeated-effect", f"{key}: {count} effects", submitted.get(key))
            )
    if seen:
        _lost(history, submitted, effects, seen[-1], result)
    elif healed_phase(history, result) is not None:
        result.unknown.append("no client could look which effects there were")
    for done in filter(None, map(_ok, operations)):
        if done.f == "collect":
            result.anomalies += [
                _anomaly(
                    history,
                    "unnotified-submitter",
                    f"{key} was done, but its submitter c{history.caller(done)} "
                    "did not learn of it with every fault healed",
                    submitted.get(key),
                    done,
                )
                for key in done.value["untold"]
                if effects[key]
            ]
    if seen:
        result.anomalies += _false_completions(history, operations, submitted, effects)
    result.anomalies += _done_by_others(history, operations, submitted, makers or {})
    result.anomalies += _denials(history, operations, submitted)
    claims = [done for o in operations if (done := _ok(o)) is not None and done.f == "claim"]
    result.anomalies += _tokens_that_do_not_grow(history, operations)
    result.stats = {
        "submitted": sum(o.outcome == "ok" for o in submitted.values()),
        "effects": effects.total(),
        "claims": len(claims),
        "claimed again": sum(done.value["token"] > 1 for done in claims),
        "asked": sum(o.outcome == "ok" for o in operations if o.invoke.f == "ask"),
        "forgotten": sum(o.outcome == "ok" for o in operations if o.invoke.f == "forget"),
        "told": sum(o.outcome == "ok" for o in operations if o.invoke.f == "await"),
    }
    return result


def _denials(
    history: History, operations: Sequence[Operation], submitted: Mapping[str, Operation]
) -> list[Anomaly]:
    """Jobs that ``ask`` called unknown although they had been submitted, and nobody forgot them."""
    forgotten: dict[str, int] = {}
    for each in operations:
        if each.invoke.f == "forget" and each.outcome != "fail":
            forgotten.setdefault(each.invoke.value["key"], each.invoke.time)
    return [
        _anomaly(
            history,
            "denied-job",
            f"c{history.caller(done)} was told that there was no job {key}, "
            "although it had been submitted before",
            submission,
            done,
        )
        for asked in operations
        if asked.invoke.f == "ask" and (done := _ok(asked)) is not None and not done.value["known"]
        if (submission := submitted.get(key := done.value["key"])) is not None
        and (acknowledged := _ok(submission)) is not None
        and acknowledged.time <= asked.invoke.time
        and forgotten.get(key, done.time) >= done.time
    ]


def _false_completions(
    history: History,
    operations: Sequence[Operation],
    submitted: Mapping[str, Operation],
    effects: Mapping[str, int],
) -> list[Anomaly]:
    """Jobs whose submitter was told that they were done, and whose effect never came.

    An effect comes with the completion or before it, so what is not there in the end was not
    there when the submitter was told.
    """
    found: dict[str, Op] = {}
    for done in filter(None, map(_ok, operations)):
        told: list[str] = []
        if done.f in ("await", "forget"):
            told = [done.value["key"]]
        elif done.f == "collect":
            told = done.value["told"]
        for key in told:
            if not effects.get(key):
                found.setdefault(key, done)
    return [
        _anomaly(
            history,
            "false-completion",
            f"c{history.caller(done)} was told that {key} was done, but it never had its effect",
            submitted.get(key),
            done,
        )
        for key, done in found.items()
    ]


def _done_by_others(
    history: History,
    operations: Sequence[Operation],
    submitted: Mapping[str, Operation],
    makers: Mapping[str, Sequence[str | None]],
) -> list[Anomaly]:
    """Answers that a client had done a job whose effect another client made, by the logs.

    The answer may also be that of the worker's own ``complete``. Jobs with an effect whose session
    is not known to be a client's are not judged.
    """
    clients = history.clients_of_sessions()
    found = []
    for done in filter(None, map(_ok, operations)):
        if done.f == "complete" and not done.value["undone"]:
            said = f"c{history.caller(done)}"
        elif done.f == "await" and done.value.get("result"):
            said = done.value["result"]
        else:
            continue
        key = done.value["key"]
        did = [clients.get(session or "") for session in makers.get(key, ())]
        if not did or None in did or said in {f"c{client}" for client in did}:
            continue
        others = ", ".join(f"c{client}" for client in did)
        found.append(
            _anomaly(
                history,
                "false-completion",
                f"c{history.caller(done)} was told that {said} had done {key}, but it was {others}",
                submitted.get(key),
                done,
            )
        )
    return found


def _tokens_that_do_not_grow(history: History, operations: Sequence[Operation]) -> list[Anomaly]:
    """Claims of a job whose token is not larger than an earlier one, or equals another client's.

    A client that claims a job again while it has it gets the same token.
    """
    claims: dict[str, list[tuple[Op, Op]]] = defaultdict(list)
    for operation in operations:
        done = _ok(operation)
        if done is not None and done.f == "claim":
            claims[done.value["key"]].append((operation.invoke, done))
    found = []
    for key, own in claims.items():
        holders: dict[int, Op] = {}
        highest: Op | None = None
        for call, done in sorted(own, key=lambda claim: claim[1].time):
            token = done.value["token"]
            other = holders.setdefault(token, done)
            if history.caller(other) == history.caller(done):
                other = done
            if highest is not None and token < highest.value["token"] and highest.time < call.time:
                other = highest
            if highest is None or token > highest.value["token"]:
                highest = done
            if other is done:
                continue
            found.append(
                Anomaly(
                    kind="token-regression",
                    description=(
                        f"c{history.caller(done)} claimed {key} with token {token} "
                        f"after c{history.caller(other)} had claimed it with "
                        f"{other.value['token']}"
                    ),
                    ops=sorted({other.index, call.index, done.index}),
                    clients=sorted({history.caller(op) for op in (other, done)}),
                    start=other.time,
                    end=done.time,
                )
            )
    return found


def _lost(
    history: History,
    submitted: Mapping[str, Operation],
    effects: Mapping[str, int],
    look: Op,
    result: CheckResult,
) -> None:
    """Report jobs whose submission was acknowledged and that have no effect in the end."""
    if healed_phase(history, result) is None:
        return
    result.anomalies += [
        _anomaly(
            history,
            "lost-job",
            f"{key} was submitted but never done, although every fault was healed "
            + ("(its node still exists)" if key in look.value["left"] else "(its node is gone)"),
            operation,
            look,
        )
        for key, operation in submitted.items()
        if operation.outcome == "ok" and not effects.get(key)
    ]


def _ok(operation: Operation) -> Op | None:
    done = operation.completion
    return done if done is not None and done.type == "ok" else None


def _anomaly(
    history: History,
    kind: str,
    description: str,
    operation: Operation | None,
    *more: Op,
) -> Anomaly:
    """An anomaly of one job, whose submission is known or not."""
    submission = operation.indices if operation else []
    return Anomaly(
        kind=kind,
        description=description,
        ops=sorted([*submission, *(op.index for op in more)]),
        clients=[history.caller(operation)] if operation else [],
        start=operation.invoke.time if operation else history.start,
        end=max((op.time for op in more), default=history.end),
    )
