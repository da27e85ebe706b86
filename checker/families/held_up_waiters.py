"""Counting waits that a barrier blocked: a run without any does not test the barrier."""

from bisect import bisect_left

from rumpus.checker.history import History, Operation, final_phase


def count_held_up(history: History) -> int:
    """How many waits, before the final phase, returned after a ``remove`` called during the wait.

    ``wait`` and ``remove`` {key} name the barrier.
    """
    phase = final_phase(history)
    removes: dict[int, list[int]] = {}
    for op in history:
        if op.f == "remove" and op.type == "invoke":
            removes.setdefault(op.value["key"], []).append(op.time)

    def was_held_up(wait: Operation) -> bool:
        times = removes.get(wait.invoke.value["key"], [])
        done = wait.completion
        assert done is not None, "it ended with ok"
        return bisect_left(times, wait.invoke.time) < bisect_left(times, done.time)

    return sum(
        was_held_up(call)
        for call in history.operations()
        if call.invoke.f == "wait"
        and call.outcome == "ok"
        and (phase is None or call.invoke.time < phase.time)
    )
