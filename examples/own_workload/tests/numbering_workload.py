"""What clients do with numbers, and what must hold: no number twice, and none that goes back."""

from functools import partial

from rumpus import (
    CheckResult,
    Timeline,
    Workload,
    anomaly_of,
    at_least,
    check_final_answers,
    operation,
    until_ok,
)


def _no_number_comes_twice(timeline: Timeline) -> CheckResult:
    """All numbers differ, and one that was asked for after another was given is higher."""
    result = CheckResult(name="numbers")
    takers = {}
    given = []
    for call in timeline.history.operations():
        if call.invoke.f != "take" or call.outcome != "ok":
            continue
        number = call.completion.value
        if number in takers:
            text = f"{number} was given out twice"
            result.anomalies.append(
                anomaly_of(timeline.history, "duplicate-sequence", text, takers[number], call)
            )
        takers[number] = call
        given.append((call.completion.time, number))
        earlier = max((n for time, n in given if time < call.invoke.time), default=0)
        if number < earlier:
            text = f"{number} was given out after {earlier}"
            result.anomalies.append(
                anomaly_of(timeline.history, "out-of-order", text, takers[earlier], call)
            )
    return result


class Numbering(Workload):
    """Clients take numbers."""

    name = "numbering"
    model = "numbers"
    main = "take"
    requests = ("write", "read")
    checks = (_no_number_comes_twice, partial(check_final_answers, most_tries=5))
    needs = (at_least(50, "take", "numbers given out"),)

    def open(self, recipe, context):
        return recipe(context.kazoo, self.path)

    @operation(timeout=2.0, overdue=3.0)
    def take(self, numbers, timeout: float) -> int:
        return numbers.take(timeout)

    def load(self, client):
        while not client.is_over:
            yield self.take()
            yield client.rest(0.0, 0.2)

    def final(self):
        return [until_ok(self.take(), 5)]
