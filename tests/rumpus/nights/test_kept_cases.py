"""What a case of the repository is found to be, by what its run shows."""

from itertools import islice

import pytest

from rumpus.campaigns.tasks import Attempt
from rumpus.exit_codes import ENVIRONMENT
from rumpus.nights.kept_cases import AROUND
from rumpus.results.fingerprint import Fingerprint
from tests.rumpus.nights.made import kept, plan_of, seen_of, shown

GRANT, OTHER = seen_of("double-grant"), seen_of("deadlock")
UNKNOWN = {"outcome": "unknown", "reasons": ("too large",)}


@pytest.mark.parametrize("mark", [{"known": True}, {"mutant": True}])
@pytest.mark.parametrize(
    ("attempt", "state"),
    [
        (shown(GRANT), "shown"),
        (shown(), "stale"),
        (shown(OTHER), "stale"),
        (shown(**UNKNOWN), "undecided"),
        (Attempt(error="no room", exit_code=ENVIRONMENT), "unperformed"),
    ],
)
def test_what_is_to_show_its_failure(mark, attempt, state):
    found, why = kept(**mark).judged(attempt)
    assert found == state
    assert bool(why) == (state != "shown")


@pytest.mark.parametrize(
    ("attempt", "state", "words"),
    [
        (shown(), "mended", ""),
        (shown(GRANT), "regression", "double-grant"),
        (shown(OTHER), "regression", "deadlock"),
        (shown(**UNKNOWN), "undecided", ""),
        (Attempt(error="no room", exit_code=ENVIRONMENT), "unperformed", "no room"),
    ],
)
def test_what_is_mended_must_not_come_back(attempt, state, words):
    found, why = kept().judged(attempt)
    assert found == state
    assert words in why


def test_the_same_run_without_its_failure_is_told():
    assert "the same run" in kept(known=True, digest="d").judged(shown(digest="d"))[1]
    assert "the same run" not in kept(known=True, digest="d").judged(shown(digest="e"))[1]


def test_its_run_is_that_of_the_case():
    piece = kept("a").piece()
    assert (piece.role, piece.name, piece.kind, piece.seed) == ("case", "a", "case", 7)
    assert (piece.subject, piece.world) == ("lock / fair", "sim")
    real = kept(settings={"workload": "lock", "recipe": "fair", "ensemble": "docker"}).piece()
    assert real.world == "docker"


def test_runs_near_it_are_others_and_end():
    case = kept("a", plan=plan_of("kill", "pause"))
    near = list(islice(case.near(), 100))
    assert len(near) == AROUND - 1
    assert {piece.kind for piece in near} == {"near"}
    assert {piece.name for piece in near} == {"a"}
    assert all(piece.task != case.piece().task for piece in near)
    assert len({repr(piece.task) for piece in near}) > AROUND / 2


def test_a_failure_near_it_is_the_same_one():
    case = kept(known=True, expects=Fingerprint(kind="double-grant", operations=("acquire",)))
    right = seen_of("double-grant", "acquire")
    assert case.found_in(shown(right, faults=("kill",))) == right
    assert case.found_in(shown(seen_of("double-grant", "release"))) is None
    assert case.found_in(shown(OTHER)) is None
    assert case.found_in(Attempt(error="no")) is None
