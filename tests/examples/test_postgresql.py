import shutil
from pathlib import Path

import pytest

from tests.sampling import one_in

BRIEF = "--rumpus-seeds", "1"


@pytest.fixture(autouse=True)
def _server():
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'psycopg[binary]'")
    if shutil.which("postgres") is None and not [*Path("/usr/lib/postgresql").glob("*/bin")]:
        pytest.skip("needs a PostgreSQL server: apt install postgresql")


@one_in(3)
def test_a_holder_that_is_not_told_of_its_lost_connection_is_found(run_example):
    told, outcomes = run_example("postgresql", "tests/test_lock.py")
    assert outcomes == {"failed": 1}, told
    assert "split-brain" in told
    assert "stuck-waiter:" not in told
    assert "client-partition" in told


@one_in(4)
def test_leases_keep_the_promises(run_example):
    told, outcomes = run_example("postgresql", "tests/test_leased_lock.py", *BRIEF)
    assert outcomes == {"passed": 1}, told
