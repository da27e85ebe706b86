"""Finds the first step at which two servers differ, and a short sequence that shows it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.conformance.deployment import Deployment
from tests.simulation.differential.execution import Execution, Outcome
from tests.simulation.differential.steps import Step

MakeDeployment = Callable[[], Deployment]


class Difference(NamedTuple):
    """Two servers' outcomes of the last of some steps."""

    steps: tuple[Step, ...]
    first: Outcome | str
    second: Outcome | str

    def __str__(self) -> str:
        lines = [f"  {step}" for step in self.steps]
        return "\n".join(
            ["after", *lines, "one server answers", f"  {self.first}", "and the other",
             f"  {self.second}"]
        )  # fmt: skip


def execute(steps: Sequence[Step], make: MakeDeployment) -> list[Outcome]:
    """What a fresh server answers.

    Raises:
        AssertionError: it told two times of one zxid.
    """
    deployment = make()
    try:
        execution = Execution(deployment)
        outcomes = execution.run(steps)
        assert not execution.wrong_times, f"one zxid with two times: {execution.wrong_times}"
        return outcomes
    finally:
        deployment.tear_down()


def difference(
    steps: Sequence[Step], first: Sequence[Outcome], second: Sequence[Outcome]
) -> Difference | None:
    """The first one, with the steps up to it."""
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            return Difference(tuple(steps[: number + 1]), one, other)
    return None


def compare(
    steps: Sequence[Step], first: MakeDeployment, second: MakeDeployment
) -> Difference | None:
    """Send the steps to two fresh servers."""
    return difference(steps, execute(steps, first), execute(steps, second))


def shrink(
    found: Difference,
    differ: Callable[[Sequence[Step]], Difference | None],
    *,
    tries: int = 60,
) -> Difference:
    """Leave out steps as long as some difference remains.

    Args:
        found: what is to be shrunk.
        differ: compares two servers on a sequence.
        tries: how often it may be called.
    """
    size = max(1, len(found.steps) // 2)
    while tries > 0:
        at = 0
        shorter = False
        while at < len(found.steps) and tries > 0:
            # The last step shows the difference; the rest may go.
            kept = found.steps[:at] + found.steps[min(at + size, len(found.steps) - 1) :]
            if len(kept) == len(found.steps):
                break
            tries -= 1
            smaller = differ(kept)
            if smaller is not None:
                found, shorter = smaller, True
            else:
                at += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return found
