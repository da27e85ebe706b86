"""What a verdict tells of promises that its checks cannot speak of."""

import pytest

from docs.generators.agreeing_sites import AgreeingSites
from rumpus.checker.check import declaration
from rumpus.checker.every_run.errors import check_errors
from rumpus.checker.server_promises.state import check_server_state
from rumpus.workloads.framework.judgement import judge_timeline
from rumpus.workloads.registry import WORKLOADS
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def untold(prevents):
    latch = WORKLOADS["latch"]
    history = Recorded().end(100).history()
    timeline = latch.lay_out(laid_out(history, prevents=prevents))
    return judge_timeline(timeline, latch, "tally").unjudged


def test_a_promise_that_no_check_looks_for_is_told():
    assert untold({"early-entry"}) == []
    assert untold({"early-entry", "lost-element"}) == [
        "lost-element: promised, and no check of this family looks for it"
    ]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_promise_of_a_recipe_is_looked_for(name):
    workload = WORKLOADS[name]
    checks = (check_server_state, *workload.judged_by(), check_errors)
    sought = {kind.name for each in checks for kind in declaration(each).finds}
    for recipe in workload.recipes.values():
        assert recipe.promises.prevents <= sought


@pytest.mark.parametrize(
    ("name", "recipe", "promised"),
    [
        ("lock", "kazoo-bare", True),
        ("lock", "package.locks:Lock", False),  # it says itself what it promises
        ("multi", "multi", False),  # its callers know its znodes
    ],
)
def test_no_recipe_of_the_catalogue_may_raise_what_a_server_answers(name, recipe, promised):
    workload, recorded = WORKLOADS[name], Recorded()
    recorded.add(1, 0, "invoke", workload.main or "write")
    recorded.add(2, 0, "info", workload.main or "write", error="NoNodeError: ")
    history = recorded.end(100).history()
    timeline = workload.lay_out(laid_out(history, prevents={"stuck-waiter"}))
    verdict = judge_timeline(timeline, workload, recipe)
    told = [each.promised for each in verdict.anomalies if each.kind == "unexpected-error"]
    assert told == [promised]


def test_a_class_of_another_repository_is_asked_for_what_it_says_and_nothing_else():
    sites = AgreeingSites()
    timeline = sites.lay_out(laid_out(Recorded().end(100).history()))
    asked = [need.name for each in sites.judge(timeline).checks for need in each.requirements]
    assert asked == ["commits"]
