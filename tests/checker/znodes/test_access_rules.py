import pytest

from rumpus.checker.znodes.access_rules import EVERY_ADDRESS, NO_AUTHORITY, check_access
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

USERS = {0: "c0:x", 1: "c1:y"}
OPEN, MINE = (31, "world", "anyone"), (31, "auth", "")
NODE = {"name": "z"}


def op(recorded, start, process, f, outcome="ok", *, end=None, error=None, **more):
    value = {**NODE, **more}
    recorded.add(start, process, "invoke", f, value)
    recorded.add(end or start + 1, process, outcome, f, value, error=error)


def refuse(recorded, start, process, f, **more):
    op(recorded, start, process, f, "fail", error=NO_AUTHORITY, **more)


def kinds(recorded):
    return [
        each.kind
        for each in check_access(laid_out(recorded.end(99).history()), user=USERS.get).anomalies
    ]


def made(*acl):
    recorded = Recorded(2)
    op(recorded, 1, 0, "make", acl=[list(entry) for entry in acl])
    return recorded


@pytest.mark.parametrize(
    ("acl", "who", "f", "may"),
    [
        ([OPEN], 1, "read", True),
        ([MINE], 0, "set", True),
        ([MINE], 1, "set", False),
        ([(1, "world", "anyone")], 1, "list", True),
        ([(1, "world", "anyone")], 1, "grow", False),
        ([(30, "world", "anyone")], 1, "read", False),
        ([(8, "digest", "c1:y")], 1, "prune", True),
        ([(8, "digest", "c1:z")], 1, "prune", False),
        ([(16, "ip", EVERY_ADDRESS)], 1, "allow", True),
        ([(16, "ip", "192.0.2.1")], 1, "allow", False),
    ],
)
def test_one_permission_for_each_operation(acl, who, f, may):
    more = {"acl": []} if f == "allow" else {}
    served, refused = made(*acl), made(*acl)
    op(served, 10, who, f, **more)
    refuse(refused, 10, who, f, **more)
    assert kinds(served) == ([] if may else ["unauthorised-access"])
    assert kinds(refused) == (["refused-access"] if may else [])


def test_a_child_has_a_list_of_its_own():
    recorded = made(MINE)
    op(recorded, 10, 1, "read", child="c0")
    refuse(recorded, 20, 1, "list", child="c0")
    assert kinds(recorded) == ["refused-access"]


def replaced(f, *, at, outcome="ok", served=True):
    """The list of a node is closed to others at 10 to 20; client 1 asks then."""
    recorded = made(OPEN)
    recorded.add(10, 0, "invoke", "allow", {**NODE, "acl": [list(MINE)]})
    if at > 20:
        recorded.add(20, 0, outcome, "allow", NODE)
    (op if served else refuse)(recorded, at, 1, f)
    if at <= 20:
        recorded.add(20, 0, outcome, "allow", NODE)
    return kinds(recorded)


def test_a_write_meets_the_list_in_force_and_a_read_may_meet_the_one_before():
    assert replaced("set", at=30) == ["unauthorised-access"]
    assert replaced("set", at=30, served=False) == []
    for served in (True, False):
        assert replaced("read", at=30, served=served) == []
        assert replaced("set", at=15, served=served) == []
        assert replaced("set", at=30, outcome="info", served=served) == []


def test_other_refusals_and_unknown_nodes_say_nothing():
    recorded = made(MINE)
    op(recorded, 10, 1, "read", "fail")
    op(recorded, 20, 1, "set", "info")
    recorded.add(30, 1, "invoke", "read", {"name": "other"})
    recorded.add(31, 1, "ok", "read", {"name": "other"})
    assert kinds(recorded) == []
