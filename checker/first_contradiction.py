"""When a history stopped making sense: the record with which a contradiction was complete."""

from collections.abc import Callable

from checker.history import History, Op


def first_contradiction(history: History, refused: Callable[[History], bool]) -> Op:
    """The record that the shortest refused beginning of a history ends with.

    Args:
        history: refused as a whole.
        refused: whether a history is; who refuses a beginning refuses all that go on from it, so
            O(log n) calls are enough.
    """
    low, high = 0, len(history)
    while high - low > 1:
        middle = (low + high) // 2
        if refused(history[:middle]):
            high = middle
        else:
            low = middle
    return history[high - 1]
