"""What recipes of other repositories can promise."""

import pytest

from rumpus.checker.check import all_kinds
from rumpus.recipes.promises import Promises
from rumpus.workloads.framework.judgement import OF_SERVERS
from rumpus.workloads.own.promise_names import UNAVOIDABLE, everything, with_names


def test_no_recipe_promises_what_only_servers_can_keep():
    about_servers = {name for name, kind in all_kinds().items() if kind.about != "recipe"}
    assert about_servers == OF_SERVERS | {"latent-divergence"}
    assert everything().prevents == all_kinds().keys() - about_servers - UNAVOIDABLE
    for kind in about_servers:
        with pytest.raises(ValueError, match=f"unknown promise '{kind}'"):
            with_names(Promises(prevents=frozenset()), [kind])
