import pytest

from rumpus.checker.families.generation_numbers import check_generation_numbers
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def found(story):
    history = story.end(999).history()
    result = check_generation_numbers(laid_out(history, holds=extract_holds(history, Words())))
    return [each.kind for each in result.anomalies]


def stats(*numbers):
    story = Recorded(2)
    for place, (instance, content, lock, acl) in enumerate(numbers):
        told = {"instance": instance, "content": content, "lock": lock, "acl": acl}
        story.add(10 * place, 0, "invoke", "stat", {"key": "a"})
        story.add(10 * place + 1, 0, "ok", "stat", {"key": "a", **told})
    return story


@pytest.mark.parametrize("later", [(7, 1, 1, 1), (7, 2, 3, 4), (8, 0, 1, 0)])
def test_numbers_that_do_not_go_back_are_well(later):
    assert found(stats((7, 1, 1, 1), later)) == []


@pytest.mark.parametrize("later", [(6, 1, 1, 1), (7, 0, 1, 1), (7, 1, 0, 1), (7, 1, 1, 0)])
def test_a_number_that_goes_back_is_found(later):
    assert set(found(stats((7, 1, 1, 1), later))) == {"generation-regression"}


@pytest.mark.parametrize(
    ("f", "first", "second"),
    [
        ("recreate", {"key": "a", "instance": 5}, {"key": "a", "instance": 5}),
        (
            "set-acl",
            {"key": "a", "instance": 1, "generation": 2},
            {"key": "a", "instance": 1, "generation": 2},
        ),
    ],
)
def test_a_change_gets_a_higher_number(f, first, second):
    story = Recorded(2)
    for ms, told in ((0, first), (10, second)):
        story.add(ms, 0, "invoke", f, {"key": "a"})
        story.add(ms + 1, 0, "ok", f, told)
    assert found(story) == ["generation-regression"]


@pytest.mark.parametrize(
    ("generations", "kinds"), [((1, 2), []), ((1, 1), ["generation-regression"])]
)
def test_exclusive_holds_have_lock_generations_of_their_own(generations, kinds):
    story = Recorded(2)
    for process, generation in enumerate(generations):
        grant = {"session": f"0x{process}", "token": 100 + process, "node": f"/x/{process}"}
        story.add(10 * process, process, "invoke", "acquire", {"timeout": 1, "mode": "write"})
        story.add(10 * process + 1, process, "ok", "acquire", {**grant, "generation": generation})
        story.add(10 * process + 2, process, "invoke", "release")
        story.add(10 * process + 3, process, "ok", "release")
    assert found(story) == kinds
