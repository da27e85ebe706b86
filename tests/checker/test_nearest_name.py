import pytest

from rumpus.checker.nearest_name import meant, nearest

KNOWN = ["lock", "read-write", "queue", "priority-queue", "--time-limit", "--seed", "run"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("lokc", "lock"),
        ("LOCK", "lock"),
        ("read_write", "read-write"),
        ("--sed", "--seed"),
        ("--time", "--time-limit"),
        ("rnu", "run"),
        ("prio", "priority-queue"),
        ("teapot", None),
        ("", None),
        ("r", None),
    ],
)
def test_the_nearest_name_is_what_may_be_meant(name, wanted):
    assert nearest(name, KNOWN) == wanted


def test_roles_that_rhyme_are_not_taken_for_each_other():
    assert nearest("holder", ["leader", "one"]) is None


def test_a_message_names_the_one_that_is_meant_or_all():
    assert meant("lokc", ["lock", "queue"]) == "did you mean lock?"
    assert meant("tea", ["lock", "queue"], more="; or none") == "there are lock, queue; or none"
    assert meant("tea", []) == "there are none"
