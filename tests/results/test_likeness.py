"""How likely two failures have one cause."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rumpus.results.likeness import SIGNS, likeness, shares
from rumpus.results.traits import Traits

WAITS = Traits(
    kind="stuck-waiter",
    operations=("enter",),
    words="# could not enter for # s",
    requests=("enter: create/e get-children exists*",),
    lines=("enter: double_barrier.py:41 in enter",),
    places=("double_barrier.py:41 in enter",),
    standing=("one in enter: create/e get-children exists*", "other after leave: delete"),
    sessions=("one suspended",),
    znodes=("one created ephemeral in enter",),
    story=("# loses its connection",),
)
LEAVES = Traits(
    kind="early-exit",
    operations=("leave",),
    words="# left while # was inside",
    requests=("leave: get-children delete",),
    lines=("leave: double_barrier.py:90 in leave",),
    places=("double_barrier.py:90 in leave",),
    standing=("one in leave: get-children delete",),
)
WORDS = st.lists(st.sampled_from("abcde"), max_size=3).map(tuple)
TRAITS = st.builds(
    lambda kind, words, story, places: Traits(
        kind=kind, words=" ".join(words), story=story, places=places
    ),
    st.sampled_from(["deadlock", "herd"]),
    WORDS,
    WORDS,
    WORDS,
)


def test_failures_at_the_same_lines_are_one_whatever_the_faults():
    after_kill = msgspec.structs.replace(WAITS, faults=("kill of servers",), sessions=())
    found = likeness(WAITS, after_kill)
    assert found.one
    assert "described alike" in found.why
    assert "double_barrier.py:41 in enter" in found.why


def test_failures_that_share_nothing_are_two():
    assert not likeness(WAITS, LEAVES).one


def test_another_kind_with_the_same_signs_is_nearer_than_one_with_others():
    other = msgspec.structs.replace(WAITS, kind="deadlock", words="# waits for itself")
    assert likeness(WAITS, WAITS).odds > likeness(WAITS, other).odds > likeness(WAITS, LEAVES).odds


def test_what_another_client_did_says_nothing():
    idle = msgspec.structs.replace(WAITS, standing=("one in enter: exists*", "other in leave: "))
    assert shares(WAITS, idle)["standing"] == (1, 1)


@given(TRAITS, TRAITS)
def test_likeness_has_no_order_and_nothing_is_more_alike_than_itself(one, other):
    assert likeness(one, other).odds == likeness(other, one).odds
    assert shares(one, other) == shares(other, one)
    assert set(shares(one, one)) == set(SIGNS)
    assert all(both in ((1, 1), (0.5, 0.5)) for both in shares(one, one).values())
    assert all(0 <= share <= 1 for share, _ in shares(one, other).values())
