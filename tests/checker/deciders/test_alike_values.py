"""Values that Python's hash does not tell apart are refused before a table of them is slow."""

import itertools
import time

import pytest

import rumpus
from rumpus.checker.deciders.values import (
    MOST_ALIKE,
    ValuesBuilder,
    WrongOperations,
    freeze,
    refuse_alike,
)
from rumpus.results.formats.edn import MalformedEdn, read_forms
from rumpus.usage_error import UsageError

MANY = 20_000
ALIKE = [list(each) for each in itertools.product([0, "", False], repeat=10)][:MANY]
APART = [[number, "", False] for number in range(MANY)]


@pytest.fixture(autouse=True)
def _soon():
    began = time.process_time()
    yield
    assert time.process_time() - began < 5


def sequential(*calls):
    """Records of calls of one process, one after the other: function, argument, result."""
    return [
        {"process": 0, "type": kind, "f": f, "value": value}
        for f, argument, result in calls
        for kind, value in (("invoke", argument), ("ok", result))
    ]


def test_they_have_one_hash():
    assert len({hash(freeze(each)) for each in ALIKE}) == 1
    assert len({freeze(each) for each in ALIKE[:MOST_ALIKE]}) == MOST_ALIKE


def test_a_few_of_them_are_values_like_others():
    few = ALIKE[:MOST_ALIKE]
    calls = [*(("add", each, None) for each in few), ("read", None, few)]
    assert rumpus.check(sequential(*calls), "set").outcome == "valid"
    refuse_alike([freeze(ALIKE[0])] * MANY)
    builder = ValuesBuilder()
    builder.extend(APART * 2)
    assert len(builder.build()) == 2 * MANY


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        ("set", [("read", None, ALIKE)]),
        ("set", [("add", each, None) for each in ALIKE]),
        (
            "set",
            [("read", None, [n, *ALIKE[n : n + 90]]) for n in range(0, MANY, 90)],
        ),
        ("register", [("write", each, None) for each in ALIKE]),
        ("multi-register", [("txn", [["w", each, 1]], None) for each in ALIKE]),
        ("multi-register", [("txn", [["w", each, n]], None) for n, each in enumerate(ALIKE)]),
    ],
)
def test_many_of_them_are_refused(model, calls):
    with pytest.raises(UsageError, match=f"more than {MOST_ALIKE} different lists"):
        rumpus.check(sequential(*calls), model)


@pytest.mark.parametrize("form", ["#{%s}", "{%s}"])
def test_many_of_them_are_refused_as_they_are_read(form, tmp_path):
    each = "[%s]" if form.startswith("#") else "[%s] 1"
    file = tmp_path / "h.edn"
    words = (
        " ".join("false" if v is False else '""' if v == "" else "0" for v in values)
        for values in ALIKE
    )
    file.write_text(form % " ".join(each % word for word in words))
    with file.open("rb") as opened, pytest.raises(MalformedEdn, match="different lists"):
        list(read_forms(opened))


def test_they_are_refused_wherever_they_stand():
    with pytest.raises(WrongOperations, match="different lists"):
        freeze({"deep": [[ALIKE]]})
