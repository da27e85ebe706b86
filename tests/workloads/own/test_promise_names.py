"""What recipes of other repositories can promise."""

import pytest

from rumpus.checker.verdict import ABOUT_SERVERS, ANOMALIES
from rumpus.recipes.promises import Promises
from rumpus.workloads.own.promise_names import EVERYTHING, UNAVOIDABLE, with_names


def test_no_recipe_promises_what_only_servers_can_keep():
    assert EVERYTHING.prevents == ANOMALIES.keys() - ABOUT_SERVERS - UNAVOIDABLE
    for kind in ABOUT_SERVERS:
        with pytest.raises(ValueError, match=f"unknown promise '{kind}'"):
            with_names(Promises(prevents=frozenset()), [kind])
