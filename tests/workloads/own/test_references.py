"""References to code of another repository that name nothing."""

import pytest

from rumpus.workloads.own.references import NotFound, referred


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("kazoo.client.os:system", "'kazoo.client' is a module, not a package"),
        ("json.decoder.scanner.more:x", "'json.decoder' is a module, not a package"),
        ("kazoo.clent:KazooClient", "did you mean kazoo.client"),
        ("jsonn:loads", "did you mean json"),
        ("os:sytem", "did you mean system"),
    ],
)
def test_a_reference_that_names_nothing_says_why(reference, why):
    with pytest.raises(NotFound, match=why):
        referred(reference)
