from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.bisecting import FEW, Bisection, Ran, Showed, bisect

HIDDEN = "cannot tell between them: another failure hides it in"
UNTOLD = "nothing can be told of"

RUNS = {
    "+": Ran(reproduced=True, anomaly="deadlock"),
    "-": Ran(reproduced=False),
    "h": Ran(reproduced=False, anomaly="split-brain"),
    "?": Ran(reproduced="unknown"),
    "e": Ran(reproduced="unknown", error="no such kazoo", exit_code=2),
}


def named(letters):
    return [f"v{number}" for number in range(len(letters))]


def bisected(letters, **options):
    """The bisection of versions v0, v1 ..., each of which shows what its letter says; the tries."""
    tried = []

    def show(version):
        tried.append(version)
        return [RUNS[letters[int(version[1:])]]]

    return bisect(named(letters), show, **options), tried


@pytest.mark.parametrize(
    ("letters", "answer"),
    [
        ("--+++", ["it came with v2"]),
        ("++-", ["it went with v2"]),
        ("-+-", ["it came with v1", "it went with v2"]),
        ("+e+-", ["it went with v3"]),
        ("++", ["it is in v0, v1"]),
        ("-e-", ["it is not in v0, v2; 1 of the others cannot tell"]),
        ("he?", ["cannot tell: no version showed whether the failure is there"]),
        (
            "-hhe?+",
            [f"it came after v0 and with v5 at the latest; {HIDDEN} v1, v2; {UNTOLD} v3, v4"],
        ),
        (
            "+h-",
            [f"it went after v0 and with v2 at the latest; {HIDDEN} v1"],
        ),
    ],
)
def test_the_answer_says_where_it_came_or_went_and_what_cannot_be_told(letters, answer):
    found, tried = bisected(letters)
    assert list(found.answer) == answer
    assert tried == named(letters)


@pytest.mark.parametrize(
    ("letters", "verdict", "words"),
    [
        ("-h+", "reproduced", "reproduced"),
        ("h-", "not reproduced", "not reproduced in 2 runs"),
        ("-", "not reproduced", "not reproduced in 1 run"),
        ("?h", "another anomaly", "another anomaly: split-brain"),
        ("?e", "unknown", "unknown"),
        ("e", "cannot run", "cannot run: no such kazoo"),
        ("", "cannot run", "cannot run: no run"),
    ],
)
def test_what_several_runs_of_a_version_show(letters, verdict, words):
    showed = Showed(version="v", runs=[RUNS[letter] for letter in letters])
    assert (showed.verdict, str(showed)) == (verdict, words)


@given(
    many=st.integers(FEW + 1, 200),
    share=st.floats(0, 1, exclude_max=True),
    came=st.booleans(),
    silent=st.sets(st.integers(0, 200)),
)
def test_of_many_versions_the_change_is_found_between_two_that_can_tell(many, share, came, silent):
    change = int(share * (many - 1)) + 1
    before, after = ("-", "+") if came else ("+", "-")
    letters = [
        "h" if number in silent else (before if number < change else after)
        for number in range(many)
    ]
    found, tried = bisected(letters)
    assert max(Counter(tried).values()) == 1
    assert found.untried == many - len(tried)
    if not {before, after} <= set(letters):
        assert found.changes == []
        return
    (told,) = found.changes
    last = max(n for n in range(change) if letters[n] == before)
    first = min(n for n in range(change, many) if letters[n] == after)
    assert (told.came, told.before, told.after) == (came, f"v{last}", f"v{first}")
    assert [each.version for each in told.between] == [f"v{n}" for n in range(last + 1, first)]


def test_of_many_versions_only_some_are_tried():
    _, tried = bisected("-" * 700 + "+" * 300)
    assert len(tried) < 15
    _, tried = bisected("-" * 20)
    assert tried == ["v0", "v19"]
    found, tried = bisected("-" * 20, few=1000)
    assert len(tried) == 20
    assert isinstance(found, Bisection)
