"""The final phase of a run, after every fault was healed: which client called what in it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.every_run.timeouts import ENDLESS_NS, gave_up
from rumpus.checker.history import History, Operation, final_phase
from rumpus.checker.timeline.calm import calm_time
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind, Requirement

STUCK_WAITER = Kind(
    "stuck-waiter", "a client could not proceed although nothing prevented it", timed=True
)

MOST_TOLD: Final = 3
"""How many calls that never returned are named."""


@dataclass(frozen=True)
class FinalPhase:
    """A final phase that can be judged.

    Attributes:
        history: the run.
        result: gets what is found.
        asked: how many clients must have taken part; the check that uses it counts them.
        began: when the phase began, in nanoseconds.
        operations: those that were called since.
        ended: whether the phase was completed.
    """

    history: History
    result: CheckResult
    asked: Requirement
    began: int
    operations: Sequence[Operation]
    ended: bool

    def tries(self, function: str) -> dict[int, list[Operation]]:
        """Each client's calls of an operation, in order; clients in order of number."""
        found: dict[int, list[Operation]] = {}
        for operation in self.operations:
            if operation.invoke.f == function:
                client = self.history.caller(operation)
                found.setdefault(client, []).append(operation)
        return dict(sorted(found.items()))

    def was_cut_short(self) -> bool:
        """Whether the phase was cut short; if so, notes that as unknown."""
        if not self.ended:
            self.result.unknown.append("the final phase was cut short")
        return not self.ended

    def hung(self, timeline: Timeline, functions: Collection[str]) -> None:
        """Note the calls that went on until the harness killed their clients.

        The client's next process may well be served: that does not excuse the call that hung. What
        counts is that for ``ENDLESS_NS`` in all nothing was in its way.

        Args:
            timeline: the run.
            functions: operations that must return once nothing is in their way.
        """
        for call in self.history.operations():
            if call.invoke.f not in functions or not gave_up(call):
                continue
            client = self.history.caller(call)
            spans = timeline.disturbances.get(client, [])
            calm = calm_time(spans, call.invoke.time, call.done.time)
            if calm > ENDLESS_NS:
                self.result.anomalies.append(
                    anomaly_of(
                        self.history,
                        "stuck-waiter",
                        f"c{client}'s {call.invoke.f}, called at "
                        f"{at(self.history, call.invoke.time)}, never returned: its process was "
                        f"killed {(call.done.time - call.invoke.time) / 1e9:.1f} s later, and for "
                        f"{calm / 1e9:.1f} s of these nothing was in its way",
                        call,
                    )
                )

    def stuck(self, client: int, what: str, calls: Sequence[Operation], kind: str = "") -> None:
        """Note that a client called in vain: ``stuck-waiter`` unless another kind is given."""
        last = calls[-1].completion or calls[-1].invoke
        waited = (last.time - calls[0].invoke.time) / 1e9
        endless = [
            each
            for each in self.history.operations()
            if gave_up(each) and each.invoke.time < last.time and each not in calls
        ]
        words = [f"c{self.history.caller(each)}'s {each.invoke.f}" for each in endless[:MOST_TOLD]]
        never = f"; never returned: {', '.join(words)}" if words else ""
        self.result.anomalies.append(
            anomaly_of(
                self.history,
                kind or "stuck-waiter",
                f"c{client} {what}, for {waited:.1f} s with every fault healed "
                f"({calls[-1].outcome}: {last.error or 'no answer'}){never}",
                *calls,
                *endless[:MOST_TOLD],
            )
        )


def healed_phase(history: History, result: CheckResult, asked: str = "") -> FinalPhase | None:
    """The final phase; None if there was none, or if a fault was not healed before it.

    A fault that was not healed excuses any delay, so in that case the result is unknown.

    Args:
        history: the run.
        result: gets what cannot be known.
        asked: what every client must have taken part in, in words; empty if that is not required.
    """
    requirement = Requirement(asked, max(1, history.clients), 0)
    if asked:
        result.requirements.append(requirement)
    final = final_phase(history)
    if final is None:
        return None
    value = final.value or {}
    if not value.get("healed", False):
        detail = value.get("detail", "")
        result.unknown.append(f"not every fault was healed before the final phase: {detail}")
        return None
    late = [call for call in history.operations() if call.invoke.time >= final.time]
    ended = bool(history.events("control", "phase-end"))
    return FinalPhase(history, result, requirement, final.time, late, ended)


ASKED_AGAIN = "clients asked again once every fault was healed"
"""What most final phases require of every client."""
