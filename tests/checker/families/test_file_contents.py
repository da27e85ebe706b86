import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.families.file_contents import check_file_contents
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def write(story, ms, process, version, *, data="x", expected=None, took=1, f="write"):
    story.add(ms, process, "invoke", f, {"key": "a", "data": data, "expected": expected})
    return story.add(ms + took, process, "ok", f, {"key": "a", "version": version})


def read(story, ms, process, version, *, data="x", cached=True, took=1):
    story.add(ms, process, "invoke", "read", {"key": "a"})
    told = {"key": "a", "version": version, "data": data, "cached": cached}
    return story.add(ms + took, process, "ok", "read", told)


def told(story, ms, process, version):
    story.add(ms, process, "invoke", "await", {"key": "a", "version": 0})
    return story.add(ms + 1, process, "ok", "await", {"key": "a", "version": version})


def found(story):
    return [each.kind for each in check_file_contents(laid_out(story.end(999).history())).anomalies]


def two_writes():
    story = Recorded(3)
    write(story, 10, 0, 1)
    return write(story, 20, 1, 2)


def test_a_read_after_a_write_returned_must_show_it():
    assert found(read(two_writes(), 30, 2, 2)) == []
    assert found(read(two_writes(), 30, 2, 1)) == ["stale-read"]


@pytest.mark.parametrize(("listed", "kinds"), [(True, []), (False, ["stale-read"])])
def test_a_client_finds_the_child_that_it_created(listed, kinds):
    story = Recorded(1).add(0, 0, "invoke", "add", {"child": "1"})
    assert found(story.add(9, 0, "ok", "add", {"listed": listed})) == kinds


def test_a_read_that_was_called_before_the_write_returned_need_not():
    story = write(Recorded(3), 10, 0, 1)
    story.add(19, 2, "invoke", "read", {"key": "a"})
    write(story, 20, 1, 2)
    story.add(30, 2, "ok", "read", {"key": "a", "version": 1, "data": "x", "cached": True})
    assert found(story) == []


def test_what_one_reader_saw_another_must_see_too():
    story = read(write(Recorded(3), 10, 0, 1), 20, 1, 5, data="y")
    assert found(read(story, 30, 2, 1)) == ["stale-read"]


def test_a_read_of_other_contents_than_were_written_is_stale():
    assert found(read(two_writes(), 30, 2, 2, data="y")) == ["stale-read"]


@pytest.mark.parametrize(("expected", "kinds"), [(1, []), (0, ["lost-update"]), (None, [])])
def test_a_compare_and_swap_needs_the_generation_that_it_expects(expected, kinds):
    assert found(write(write(Recorded(3), 10, 0, 1), 20, 1, 2, expected=expected)) == kinds


def test_two_writes_cannot_have_one_generation():
    story = write(Recorded(3), 10, 0, 1, took=20)
    assert found(write(story, 11, 1, 1, took=20)) == ["lost-update"]


def test_a_later_write_has_a_higher_generation():
    story = write(Recorded(3), 10, 0, 4, f="publish")
    assert found(write(story, 20, 1, 3)) == ["generation-regression"]


def test_an_event_is_early_if_a_later_read_does_not_show_it():
    assert found(read(told(two_writes(), 30, 2, 3), 40, 2, 2)) == ["early-event"]
    assert found(read(told(two_writes(), 30, 2, 2), 40, 2, 2)) == []


def test_what_is_counted():
    story = told(read(write(two_writes(), 30, 0, 3, expected=2), 40, 1, 3), 50, 1, 3)
    stats = check_file_contents(laid_out(story.end(99).history())).stats
    counts = {"reads": 1, "reads_from_cache": 1, "writes": 3, "compared_writes": 1, "events": 1}
    assert stats == counts


@given(st.data())
def test_a_register_that_takes_effect_within_each_call_is_never_blamed(data):
    """Any order of calls in which every call takes effect at a moment between call and return."""
    story, version, running = Recorded(3), 0, {}
    steps = data.draw(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40))
    for ms, (process, writes) in enumerate(steps):
        state = running.pop(process, None)
        if state is None:
            f = "write" if writes else "read"
            story.add(ms, process, "invoke", f, {"key": "a", "data": "x", "expected": None})
            running[process] = (f, None)
        elif state[1] is None:  # it takes effect
            version += state[0] == "write"
            running[process] = (state[0], version)
        else:
            answer = {"key": "a", "version": state[1], "data": "x", "cached": writes}
            story.add(ms, process, "ok", state[0], answer)
    assert found(story) == []
