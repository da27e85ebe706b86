"""Puts of several elements at once, as one put of each.

``enqueue-all`` {values} puts all of its elements or none. Checks of single elements see an
``enqueue`` {value} of each instead, with the same call, return and outcome. That puts are one is
judged besides: where one of the elements came out or is left, all of them were put for certain,
even if the outcome was unknown (``put_with_others``).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from rumpus.checker.history import History, Op, Operation

BATCH: Final = "enqueue-all"


def each_put_alone(history: History) -> History:
    """The history with an ``enqueue`` for each element of a batch; itself if it has no batch.

    A process has one call open at a time, so each of these is called by a process of its own, of
    the same client. Its records keep their indices.
    """
    if not any(op.f == BATCH for op in history):
        return history
    used = max((op.process for op in history if isinstance(op.process, int)), default=0)
    alone = History(_spread(history, count(used // history.clients + 1)), clients=history.clients)
    return alone.with_sessions(history.clients_of_sessions())


def _spread(history: History, numbers: Iterator[int]) -> Iterator[Op]:
    calls: dict[int, list[Op]] = {}  # process -> the calls that stand for its open batch
    for op in history:
        if op.f != BATCH or not isinstance(op.process, int):
            yield op
        elif op.type == "invoke":
            more = {name: value for name, value in op.value.items() if name != "values"}
            calls[op.process] = [
                replace(
                    op,
                    f="enqueue",
                    value={**more, "value": value},
                    process=history.caller(op) + history.clients * next(numbers),
                )
                for value in op.value["values"]
            ]
            yield from calls[op.process]
        else:
            for call in calls.pop(op.process):
                yield replace(op, f="enqueue", process=call.process)


def put_with_others(puts: Mapping[Any, Operation], seen: Collection[Any]) -> dict[Any, Any]:
    """Elements of batches of unknown outcome that were put for certain, as another one of theirs.

    Args:
        puts: element -> the put of it.
        seen: the elements that were in the queue for certain.

    Returns:
        The element -> one of its batch that is in ``seen``.
    """
    batches: dict[int, list[Any]] = defaultdict(list)
    for value, put in puts.items():
        if put.outcome == "info":
            batches[put.invoke.index].append(value)
    found = {}
    for values in batches.values():
        others = [value for value in values if value in seen]
        if others:
            found.update({value: others[0] for value in values if value not in seen})
    return found
