"""Counting waits that a barrier blocked: a run without any does not test the barrier."""

from bisect import bisect_left

from rumpus.checker.history import History, Op, Operation, final_phase


def count_held_up(history: History) -> int:
    """How many waits, before the final phase, returned after a ``remove`` called during the wait.

    ``wait`` and ``remove`` {key} name the barrier.
    """
    phase = final_phase(history)
    removes: dict[int, list[int]] = {}
    for op in history:
        if op.f == "remove" and op.type == "invoke":
            removes.setdefault(op.value["key"], []).append(op.time)

    def was_held_up(wait: Operation, done: Op) -> bool:
        times = removes.get(wait.invoke.value["key"], [])
        return bisect_left(times, wait.invoke.time) < bisect_left(times, done.time)

    return sum(
        was_held_up(wait, done)
        for wait, done in history.answered("wait")
        if phase is None or wait.invoke.time < phase.time
    )
