"""What each family needs of a class is told at once, by name."""

import inspect
import json
from functools import partial

import pytest
from kazoo.recipe import lock, partitioner

from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.view.follower_view import DataView
from rumpus.recipes.znodes.register import LocalRegister
from rumpus.workloads.own.references import NotFound
from rumpus.workloads.own.tolerant_calls import accepted, call, parameters_of, place_of
from rumpus.workloads.registry import WORKLOADS
from tests.workloads.own import outsiders


def adapted(family, kind, *promised):
    workload = WORKLOADS[family]
    return workload.adapter.of(kind, f"their.module:{kind.__name__}", _usual(family), promised)


def _usual(family):
    return WORKLOADS[family]._usual_promises()


@pytest.mark.parametrize("family", WORKLOADS)
def test_a_class_without_the_methods_is_refused_with_a_remedy(family):
    with pytest.raises(NotFound, match=r"Forgetful lacks `\w+.*own-recipes.md") as refused:
        adapted(family, outsiders.Forgetful)
    assert "write a class of a few lines" in str(refused.value)


@pytest.mark.parametrize("family", WORKLOADS)
def test_the_familys_own_recipes_have_the_methods(family):
    """So the declared methods are those that the workload calls, and no others."""
    for name, recipe in WORKLOADS[family].recipes.items():
        assert WORKLOADS[family].adapter.missing(recipe) == "", name


@pytest.mark.parametrize(
    ("family", "kind", "lacks"),
    [
        ("read-write", lock.Lock, "the parameter `mode`"),
        ("partitioner", partitioner.SetPartitioner, ""),
        ("election", lock.ReadLock, ""),
    ],
)
def test_a_class_that_nearly_fits_is_told_what_it_lacks(family, kind, lacks):
    missing = WORKLOADS[family].adapter.missing(kind)
    assert lacks in missing
    assert bool(missing) == bool(lacks)


@pytest.mark.parametrize(
    ("family", "kind"), [("jobs", Jobs), ("view", DataView), ("register", LocalRegister)]
)
def test_a_class_with_the_interface_of_the_recipes_here_keeps_its_promises(family, kind):
    assert adapted(family, kind).promises.prevents == kind.promises.prevents


def test_names_of_promises_are_added_and_told():
    promises = adapted("lock", outsiders.Queuer, "fifo").promises
    assert "unfair-grant" in promises.prevents
    assert promises.notes.startswith("It promises fifo. Judged: deadlock, ")
    assert "It has no `held`" in promises.notes


def test_a_time_boundary_that_is_not_judged_is_told():
    notes = adapted("partitioner", partitioner.SetPartitioner).promises.notes
    assert "It is given a `time_boundary` of 0.3 s. Whether shares wait for that is not" in notes

    class Promising(partitioner.SetPartitioner):
        promises = Promises(prevents=frozenset({"hasty-share"}), time_boundary=0.3)

    promises = adapted("partitioner", Promising).promises
    assert "(no `line`)" in promises.notes

    class Judged(Promising):
        line = staticmethod(lambda path: Line("sequential", f"{path}/locks"))

    promises = adapted("partitioner", Judged).promises
    assert promises.time_boundary == 0.3
    assert "hasty-share" in promises.prevents
    assert "is not judged" not in promises.notes


def test_a_function_gets_what_it_names_and_nothing_else():
    def make(client, path, identifier=None, max_leases=1, **more): ...

    assert accepted(make, {"identifier": "c0", "grace": 1.0}) == {"identifier": "c0"}
    assert place_of(make, ("permits", "max_leases"), 2) == "max_leases"

    def third(client, path, wide): ...
    def named(client, path, name): ...
    def two(client, path): ...

    assert [place_of(each, ("permits",), 2) for each in (third, named, two)] == [2, None, None]


def test_an_endless_wait_leaves_the_default_to_a_function_that_has_one():
    assert call(lambda timeout=5: timeout, timeout=None) == 5
    assert call(lambda timeout: timeout, timeout=None) is None
    assert call(lambda timeout=5: timeout, timeout=2.0) == 2.0
    assert call(lambda: "no timeout", timeout=2.0) == "no timeout"


class Called:
    def __init__(self, client, path):
        pass

    def wait(self, timeout):
        pass

    @classmethod
    def made(cls, size):
        pass

    @staticmethod
    def line(path):
        pass

    def __call__(self, answer):
        pass


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Called, ["client", "path"]),
        (Called(0, 0).wait, ["timeout"]),
        (Called.wait, ["self", "timeout"]),
        (Called.made, ["size"]),
        (Called(0, 0).line, ["path"]),
        (Called(0, 0), ["answer"]),
        (partial(Called.line, path=1), ["path"]),
        (partial(Called.wait, 1), ["timeout"]),
        (type, []),
    ],
)
def test_parameters_are_those_of_the_signature_each_time(function, names):
    for _ in range(2):
        assert list(parameters_of(function)) == names


def test_the_parameters_of_a_method_are_read_once_for_a_class(monkeypatch):
    read = []

    def signature(function):
        read.append(function)
        return inspect.Signature.from_callable(function)

    class Mine(Called):
        def wait(self, timeout=3.0):
            return timeout

    monkeypatch.setattr("rumpus.workloads.own.tolerant_calls.inspect.signature", signature)
    told = [call(Mine(0, 0).wait, timeout=timeout) for timeout in (None, 2.0, 1.0)]
    assert told == [3.0, 2.0, 1.0]
    assert len(read) == 1


class Anything:
    """Has every method, and does not say which znodes own."""

    def __init__(self, client, path):
        self.client, self.path = client, path

    def __getattr__(self, name):
        return lambda: name


@pytest.mark.parametrize("family", ["lock", "semaphore", "election", "breaking", "failover"])
def test_sessions_are_judged_where_nobody_says_which_znodes_own(family):
    """Without a line there is no view of the servers, and who holds together is undecided."""
    recipe = WORKLOADS[family].recipe_of(f"{__name__}:Anything")
    assert recipe.line("/x") == Line(kind="unknown", path="/x")


@pytest.mark.parametrize(
    ("name", "promised"), [(f"{__name__}:Anything", ("fifo",)), ("kazoo-bare", ("liveness",))]
)
def test_a_client_is_told_what_the_recipe_promises(name, promised, monkeypatch):
    """What is judged is worked out once, in the control process, not by each client again."""
    workload = WORKLOADS["lock"]
    kind = workload.recipe_of(name, promised)
    options = json.loads(json.dumps(workload.options(name, 3, kind)))
    monkeypatch.setattr(type(workload), "recipe_of", None)
    opened = []
    monkeypatch.setattr(type(workload), "open", lambda _self, recipe, _: opened.append(recipe))
    workload.builder(**options)(None)
    (theirs,) = opened
    assert theirs.promises == kind.promises
    assert theirs.line("/x") == kind.line("/x")


def test_a_recipe_of_rumpus_promises_what_its_class_says():
    workload = WORKLOADS["lock"]
    options = workload.options("fair", 3, workload.recipe_of("fair"))
    assert options == workload.options("fair", 3)
    assert "promises" not in options
