"""Liveness of operations that wait for nobody: once all is healed, every client gets an answer."""

from checker.history import History, final_phase
from checker.verdict import Anomaly, CheckResult, Requirement


def check_final_answers(history: History) -> CheckResult:
    """Judge the final phase: of whatever a client asked there, one try must have been answered.

    A definite refusal without an error is an answer, too.
    """
    result = CheckResult(name="final answers")
    final = final_phase(history)
    asked = Requirement(
        name="clients asked again once every fault was healed",
        needed=max(1, history.clients),
        observed=0,
    )
    result.requirements.append(asked)
    if final is None:
        return result
    if not (final.value or {}).get("healed", False):
        detail = (final.value or {}).get("detail", "")
        result.unknown.append(f"not everything was healed before the final phase: {detail}")
        return result
    tries: dict[tuple[int, str], list[tuple[int, int, str]]] = {}
    answered: set[tuple[int, str]] = set()
    for operation in history.operations():
        call, done = operation.invoke, operation.completion
        if call.time < final.time:
            continue
        who = (history.client_of(int(call.process)), call.f)
        last = done or call
        tries.setdefault(who, []).append((call.index, last.time, last.error or "no answer"))
        if done is not None and (done.type == "ok" or (done.type == "fail" and not done.error)):
            answered.add(who)
    asked.observed = len({client for client, _ in tries})
    if tries.keys() - answered and not history.events("control", "phase-end"):
        result.unknown.append("the final phase was cut short")
        return result
    for client, f in sorted(tries.keys() - answered):
        indices = [index for index, _, _ in tries[client, f]]
        _, end, error = tries[client, f][-1]
        result.anomalies.append(
            Anomaly(
                kind="stuck-waiter",
                description=(
                    f"c{client} got no answer to {f} in {len(indices)} tries with every fault "
                    f"healed ({error})"
                ),
                ops=indices,
                clients=[client],
                start=final.time,
                end=end,
            )
        )
    return result
