"""Which failures are new, and what has become worse, between two sides."""

import random

import pytest

from rumpus.nights.comparing.comparing import compare
from rumpus.nights.comparing.comparison import RATE
from rumpus.nights.comparing.comparison_text import digits_of, headline, in_markdown_page
from rumpus.nights.comparing.sides import Side, side_of, tallied
from rumpus.nights.memory.store import Store
from rumpus.nights.records import Subject
from rumpus.results.fingerprint import Fingerprint
from rumpus.usage_error import UsageError
from tests.rumpus.nights.conftest import FAIR, failure, night, run

OTHER = Subject(workload="lock", recipe="other")
GRANT, STUCK = failure(), failure("stuck-waiter")
ELSEWHERE = failure(recipe="other")
KNOWN = {each.id: each for each in (GRANT, STUCK, ELSEWHERE)}


def side(*rows, what="night", name="x"):
    return Side(name=name, what=what, tallies=tallied(rows), failures=KNOWN)


def runs(count, broken=0, shown=(GRANT,), **more):
    """Runs of which some show failures."""
    failures = tuple(each.id for each in shown)
    wrong = [run(n, outcome="violation", failures=failures, **more) for n in range(broken)]
    return [*wrong, *(run(n, **more) for n in range(broken, count))]


def states(comparison):
    return {each.failure.split(": ")[1]: each.state for each in comparison.failures}


def changes(comparison, subject=FAIR.key):
    return {each.what: each for each in comparison.changes if each.subject == subject}


def test_failures_are_new_known_gone_or_flaky():
    rare = [run(99, outcome="violation", failures=(STUCK.id,))]
    assert states(compare(side(*runs(50)), side(*runs(50, 1)))) == {"double-grant": "new"}
    assert states(compare(side(*runs(50, 1)), side(*runs(50, 1)))) == {"double-grant": "known"}
    # Half of A's runs showed it: that B's ten all miss it has a probability of 0.1 %.
    found = compare(side(*runs(50, 25), *rare), side(*runs(10)))
    assert states(found) == {"double-grant": "gone", "stuck-waiter": "flaky"}
    gone, flaky = sorted(found.failures, key=lambda each: each.state != "gone")
    assert gone.missed == pytest.approx((26 / 51) ** 10)
    assert flaky.missed == pytest.approx((50 / 51) ** 10)
    assert (gone.a, gone.b) == ((25, 51), (0, 10))
    assert found.exit_code == 0


def test_the_bound_of_gone_is_a_probability_of_5_percent():
    assert states(compare(side(*runs(2, 1)), side(*runs(4)))) == {"double-grant": "flaky"}
    assert states(compare(side(*runs(2, 1)), side(*runs(5)))) == {"double-grant": "gone"}


def test_a_new_failure_is_a_regression_however_rare():
    found = compare(side(*runs(50)), side(*runs(50, 1)))
    assert (found.exit_code, found.regressions) == (1, 1)
    assert changes(found)[RATE].verdict == "no evidence of change"
    assert headline(found) == "x is worse than x: 1 new failure"


def test_what_only_one_side_ran_is_not_compared():
    one = side(*runs(5))
    other = side(*runs(9, 9, [ELSEWHERE], subject=OTHER.key))
    found = compare(one, other)
    assert (found.exit_code, found.failures, found.changes) == (3, (), ())
    assert found.only == ((FAIR.key,), (OTHER.key,))
    assert "nothing was compared" in headline(found)
    both = compare(one, side(*runs(5), *runs(9, 9, [ELSEWHERE], subject=OTHER.key)))
    assert (both.exit_code, both.failures, both.runs) == (0, (), (5, 5))
    # Another kind of run of the same subject may show what the usual ones never do.
    swarm = runs(9, 9, kind="swarm")
    assert compare(one, side(*runs(5), *swarm)).exit_code == 0
    # And what a side has seen in whichever kind is not new to it.
    assert states(compare(side(*runs(5), *swarm), side(*runs(5, 1)))) == {"double-grant": "known"}


def test_runs_that_were_not_judged_are_not_counted():
    undecided = [run(7, outcome="unknown"), run(8, outcome=None), run(9, outcome="inconclusive")]
    found = compare(side(*runs(5, 1), *undecided), side(*runs(5), *undecided))
    assert found.runs == (5, 5)
    assert compare(side(*undecided), side(*undecided)).exit_code == 3


def test_only_roles_that_tell_something_count():
    for role in ("canary", "again", "command"):
        assert compare(side(*runs(5)), side(*runs(5), *runs(5, 5, role=role))).exit_code == 0


def test_a_case_shows_whether_a_failure_is_there_but_nothing_of_its_rate():
    def case(broken, name="a"):
        return runs(1, broken, role="case", kind="case", name=name)

    back = compare(side(*runs(5), *case(0)), side(*runs(5), *case(1)))
    assert states(back) == {"double-grant": "new"}
    assert back.failures[0].by_case
    assert changes(back) == {}
    assert states(compare(side(*runs(5), *case(1)), side(*runs(5), *case(0)))) == {
        "double-grant": "gone"
    }
    # A case that A has not performed says nothing of A.
    assert compare(side(*runs(5)), side(*runs(5), *case(1))).exit_code == 0
    assert compare(side(*case(1)), side(*case(1))).exit_code == 0
    assert compare(side(*case(1)), side(*case(1, "b"))).exit_code == 3


def test_a_failure_rate_is_compared_within_subjects_and_kinds():
    """Of each subject the same rate; B spends more of its runs on the fragile one."""
    a = side(*runs(900), *runs(100, 50, [ELSEWHERE], subject=OTHER.key))
    b = side(*runs(100), *runs(900, 450, [ELSEWHERE], subject=OTHER.key))
    found = compare(a, b)
    assert found.exit_code == 0
    assert {each.subject for each in found.changes} == {"", OTHER.key}
    assert all(each.verdict == "no evidence of change" for each in found.changes)
    worse = compare(a, side(*runs(900, 90), *runs(100, 50, [ELSEWHERE], subject=OTHER.key)))
    assert changes(worse)[RATE].verdict == "worse"
    assert changes(worse, OTHER.key)[RATE].verdict == "no evidence of change"
    better = compare(b, side(*runs(100), *runs(900, 100, [ELSEWHERE], subject=OTHER.key)))
    assert changes(better, OTHER.key)[RATE].verdict == "better"
    assert better.exit_code == 0


def measured(count, seed=0, kind="usual", **means):
    """Runs whose figures vary by some percent around their means."""
    drawn = random.Random(seed)
    return [
        run(n, kind=kind, figures={k: v * drawn.uniform(0.97, 1.03) for k, v in means.items()})
        for n in range(count)
    ]


def test_a_figure_is_worse_in_its_own_direction_and_by_more_than_10_percent():
    a = side(*measured(30, 1, latency=10, throughput=50, handover=5, grants=9, fairness=0.9))
    b = side(*measured(30, 2, latency=15, throughput=75, handover=5.4, grants=99, fairness=0.9))
    found = changes(compare(a, b))
    assert {name: (each.verdict, each.regression) for name, each in found.items()} == {
        "latency": ("worse", True),
        "throughput": ("better", False),
        "handover": ("worse", False),
        "grants": ("changed", False),
        "fairness": ("no evidence of change", False),
    }
    low, high = found["latency"].change[1:]
    assert low < 1.5 < high
    assert found["latency"].runs == (30, 30)
    back = compare(b, a)
    assert changes(back)["throughput"].regression
    assert (back.exit_code, back.regressions) == (1, 1)
    assert "by less than 10 %" in in_markdown_page(compare(a, b))


def test_figures_of_other_kinds_of_run_are_not_mixed():
    a = side(*measured(40, 1, latency=10), *measured(5, 2, "short", latency=100))
    b = side(*measured(5, 3, latency=10), *measured(40, 4, "short", latency=100))
    assert compare(a, b).exit_code == 0


def test_many_comparisons_find_nothing_by_chance():
    """A hundred subjects whose runs are all drawn alike."""
    drawn = random.Random(7)

    def one_side():
        rows = []
        for number in range(100):
            key = Subject(workload="lock", recipe=f"r{number}").key
            for seed in range(20):
                figures = {name: drawn.lognormvariate(0, 0.3) for name in ("latency", "recovery")}
                outcome = "violation" if drawn.random() < 0.2 else "valid"
                rows.append(run(seed, subject=key, figures=figures, outcome=outcome))
        return side(*rows)

    found = compare(one_side(), one_side())
    assert min(each.probability for each in found.changes) < 0.02
    assert found.regressions == 0


def test_runs_alone_have_failures_without_faults():
    """A night knows the faults that a failure needs; the directory of a run does not."""
    shrunk = failure(fingerprint=Fingerprint(kind="double-grant", faults=("kill",)))
    rows = [run(1, kind="", outcome="violation", failures=(GRANT.id,))]
    told = [run(1, kind="swarm", outcome="violation", failures=(shrunk.id,))]
    of_night = Side(name="n", what="night", tallies=tallied(told), failures={shrunk.id: shrunk})
    for sides in ((of_night, side(*rows, what="runs")), (side(*rows, what="runs"), of_night)):
        (found,) = compare(*sides).failures
        assert (found.id, found.state) == (shrunk.id, "known")
    assert compare(of_night, side(*rows)).exit_code == 3


@pytest.fixture
def filled(path):
    """Four nights of two branches, with two versions of kazoo."""
    with Store.opened(path, write=True) as store:
        store.note_failure(GRANT)
        for number in range(1, 9):
            branch = "main" if number < 8 else "feature"
            store.begin_night(night(number, branch=branch))
            asked = Subject(workload="lock", recipe="fair", kazoo=f"2.{number % 2}.0")
            for each in runs(5, number == 8, subject=asked.key):
                told = {"versions": {"kazoo": asked.kazoo}, "kind": "usual"}
                known = {name: getattr(each, name) for name in ("outcome", "failures", "subject")}
                store.note_run(night(number).name, run(each.seed, **known, **told))

    def opened():
        return Store.opened(path)

    return opened


def test_words_name_nights_branches_and_versions(filled):
    last = side_of("last", filled)
    assert (last.what, last.nights) == ("night", (night(8).name,))
    assert last.failures.keys() == {GRANT.id}
    assert side_of("last~1", filled).nights == side_of("2026-11-07", filled).nights
    main = side_of("main", filled)
    assert (main.what, main.nights) == ("branch", tuple(night(n).name for n in (7, 6, 5, 4, 3)))
    version = side_of("kazoo=2.0.0", filled)
    assert version.nights == tuple(night(n).name for n in (2, 4, 6, 8))
    # What is compared must not be part of what is compared by.
    found = compare(side_of("kazoo=2.1.0", filled), version)
    assert found.subjects == (FAIR.key,)
    assert (found.runs, found.exit_code) == ((20, 20), 1)
    assert compare(last, side_of("last~1", filled)).exit_code == 3


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("nowhere", "nor a branch with nights .there are: feature, main"),
        ("", "neither a run's directory"),
        ("kazoo=9", "no run of a night had that; runs had 2.0.0, 2.1.0"),
        ("java=9", "no run says which java it had"),
        ("last~99", "there is no such night; the newest are"),
    ],
)
def test_a_word_that_names_nothing_is_refused(filled, word, why):
    with pytest.raises(UsageError, match=why):
        side_of(word, filled)


@pytest.mark.parametrize(
    ("value", "said"), [(100.0, "100"), (99.96, "100"), (1234.5, "1234"), (0.0123, "0.0123")]
)
def test_numbers_are_no_powers_of_ten(value, said):
    assert digits_of(value) == said
