"""Runs whose clients are on gevent or eventlet, from the options to the record."""

from importlib.util import find_spec

import pytest

from rumpus.trial import run
from rumpus.usage_error import UsageError


def test_greenlets_are_not_simulated(tmp_path):
    with pytest.raises(UsageError, match=r"--handler eventlet needs real servers.*docker"):
        run("lock", ensemble="sim", handler="eventlet", runs=tmp_path)


def test_a_handler_that_kazoo_does_not_have(tmp_path):
    with pytest.raises(
        UsageError, match="handler: there is no 'asyncio'; there are threading, gevent"
    ):
        run("lock", handler="asyncio", runs=tmp_path)


@pytest.mark.docker
def test_a_run_on_gevent_is_judged_and_can_be_repeated(tmp_path):
    if find_spec("gevent") is None:
        pytest.skip("gevent is not installed")
    result = run(
        "lock",
        recipe="kazoo",
        ensemble="docker",
        handler="gevent",
        clients=2,
        nodes=1,
        time_limit=4,
        seed=1,
        nemesis=["client-pause"],
        runs=tmp_path,
    )
    assert result.outcome != "violation"
    assert "gevent" in result.versions
    assert "--handler gevent" in result.command
