"""Damage to a server's files."""

from random import Random

import pytest

from rumpus.harness.damage import damaged

LOG = b"ZKLG and records"
FILES = {
    "/data/version-2/snapshot.0": b"ZKSN",
    "/data/version-2/currentEpoch": b"2",
    "/datalog/version-2/log.9": b"old",
    "/datalog/version-2/log.100000001": LOG + bytes(100),
}


def test_wiped():
    found = damaged(FILES, "wiped", Random(1))
    assert found.changes == dict.fromkeys(FILES)
    assert found.words == "4 files are gone"


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_log_is_cut_inside_its_records(seed):
    found = damaged(FILES, "cut", Random(seed))
    ((path, data),) = found.changes.items()
    assert path == "/datalog/version-2/log.100000001"
    assert len(LOG) // 2 <= len(data) <= len(LOG)
    assert LOG.startswith(data)


@pytest.mark.parametrize("seed", range(20))
def test_one_bit_is_flipped_that_somebody_reads(seed):
    found = damaged(FILES, "flipped", Random(seed))
    ((path, data),) = found.changes.items()
    assert "Epoch" not in path
    changed = [at for at, byte in enumerate(FILES[path]) if byte != data[at]]
    assert len(data) == len(FILES[path])
    assert len(changed) == 1
    assert changed[0] < len(FILES[path].rstrip(b"\0"))
    assert (FILES[path][changed[0]] ^ data[changed[0]]).bit_count() == 1


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_server_that_has_written_nothing(damage):
    assert damaged({"/data/version-2/log.1": bytes(9)}, damage, Random(1)).changes == {}
