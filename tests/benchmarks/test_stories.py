"""When a story counts as one that tells of a mistake."""

import pytest

from benchmarks import stories
from benchmarks.command_line import Scale
from benchmarks.mistakes import MS, Act, Failure
from benchmarks.stories import is_held_out, measure, tells
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.verdict import Anomaly
from rumpus.recipes.mistake import Mistake

MISTAKE = Mistake((), lasting=False, own=False)


def record(ms, kind):
    return Op(time=ms * MS, process=1, type=kind, f="release")


CALL = Operation(record(1100, "invoke"), record(1300, "ok"))
IN_CALL = Act(1, 1200 * MS, MISTAKE, CALL)
BETWEEN_CALLS = Act(1, 1200 * MS, MISTAKE, None)
NEVER_RETURNED = Act(1, 1200 * MS, MISTAKE, Operation(CALL.invoke, None))


@pytest.mark.parametrize(
    ("act", "line", "counts"),
    [
        (IN_CALL, "    1.100 s  c1 calls release", True),
        (IN_CALL, "    1.300 s  c1 release: ok", True),
        (IN_CALL, "    1.250 s  servers: node 31 is deleted by c1", True),
        (IN_CALL, "    1.250 s  c0 calls acquire", False),
        (IN_CALL, "    1.250 s  c12 calls acquire", False),
        (IN_CALL, "    1.250 s  c0 calls begin participants=['c0', 'c1']", False),
        (IN_CALL, "    1.302 s  c1 calls acquire", False),
        (IN_CALL, "    1.099 s  c1 believes that it holds", False),
        (IN_CALL, "split-brain: c1 and c0 both believed at 1.200 s", False),
        (BETWEEN_CALLS, "    1.201 s  c1 loses its connection", True),
        (BETWEEN_CALLS, "    1.202 s  c1 loses its connection", False),
        (NEVER_RETURNED, "    9.000 s  c1 is killed", True),
    ],
)
def test_what_counts_as_told(act, line, counts):
    assert tells([line], act, 0) is counts


def test_times_of_a_story_count_from_the_begin_of_the_history():
    assert tells(["    1.000 s  c1 release: ok"], BETWEEN_CALLS, 200 * MS)


def test_a_third_is_held_out_whatever_the_family():
    names = {path.name.removesuffix(stories.ENDING) for path in stories.CASES.glob("*/*")}
    held_out = set(filter(is_held_out, names))
    assert 0.25 < len(held_out) / len(names) < 0.42


def test_failures_are_counted_by_family(monkeypatch):
    """Only totals are shown of those that are held out."""
    told = ["    1.200 s  c1 release: ok"]
    empty, anomaly = History([]), Anomaly(kind="split-brain", description="")
    failures = {
        "told": Failure(empty, anomaly, told, IN_CALL),
        "hidden": Failure(empty, anomaly, [], IN_CALL),
        "silent": Failure(empty, anomaly, told, None),
        "gone": None,
    }
    monkeypatch.setattr(stories, "load_case", lambda path: path.name.partition(".")[0])
    monkeypatch.setattr(stories, "failure_of", failures.get)
    monkeypatch.setattr(stories, "is_held_out", lambda name: name == "hidden")
    monkeypatch.setattr(stories, "CASES", Cases(failures))

    assert rows(measure(Scale())) == [
        ("lock", "1 of 1", "1", "1", "(silent), (gone)"),
        ("in all", "1 of 1", "1", "1", ""),
    ]
    assert rows(measure(Scale(), held_out=True)) == [("held out, in all", "0 of 1", "0", "0", "")]


class Cases:
    """A directory of cases."""

    def __init__(self, names):
        self.names = names

    def glob(self, _):
        return [stories.Path("lock") / f"{name}{stories.ENDING}" for name in self.names]


def rows(table):
    return list(zip(*(column.cells for column in table.columns), strict=True))
