"""What a verdict tells of promises that its checks cannot speak of."""

import pytest

from rumpus.checker.check import declaration
from rumpus.checker.every_run.errors import check_errors
from rumpus.checker.every_run.server_state import check_server_state
from rumpus.workloads.framework.judgement import findings
from rumpus.workloads.registry import WORKLOADS
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def untold(prevents):
    latch = WORKLOADS["latch"]
    history = Recorded().end(100).history()
    results = findings(latch, latch.lay_out(laid_out(history, prevents=prevents)))
    return [what for each in results if each.name == "promises" for what in each.unjudged]


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
