import pytest

from rumpus.harness.generators.generator import Context, Invocation, Pending
from rumpus.harness.generators.timetable import Timetable

START = Context.start(clients=1)
FIRST, SECOND, OTHER = (
    Invocation(f, {}, process="nemesis", time=time)
    for f, time in (("first", 10), ("second", 20), ("other", 15))
)


def at(time):
    return Context(time, 1, START.members, START.free, 0, START.processes)


def test_actions_come_one_after_the_other_each_at_its_time():
    generator = Timetable([FIRST, SECOND]).generator()
    assert generator.op(at(5)) == (Pending(10), generator)
    operation, generator = generator.op(at(10))
    assert (operation.f, operation.time) == ("first", 10)
    assert generator.op(at(10))[0] == Pending(20)
    operation, generator = generator.op(at(25))
    assert operation.f == "second"
    assert generator.op(at(30)) is None


def test_what_is_to_come_is_exchanged():
    timetable = Timetable([FIRST, SECOND])
    _, generator = timetable.generator().op(at(10))
    assert timetable.replace([FIRST, OTHER, SECOND]) == 15
    assert generator.op(at(11))[0] == Pending(15)
    operation, generator = generator.op(at(15))
    assert operation.f == "other"
    assert timetable.replace([FIRST, OTHER]) is None
    assert generator.op(at(30)) is None


def test_what_was_given_out_cannot_be_exchanged():
    timetable = Timetable([FIRST, SECOND])
    timetable.generator().op(at(10))
    with pytest.raises(ValueError, match="given out differ"):
        timetable.replace([OTHER, SECOND])
