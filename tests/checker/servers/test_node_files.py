"""Reading the files of one server."""

import struct

import pytest

from rumpus.checker.servers import node_files
from rumpus.checker.servers.commitment import decide
from rumpus.checker.servers.node_files import NodeFiles, read_node_directory
from tests.checker.txnlog_encoder import as_read, create, log
from tests.checker.zab_model import proposal, zxid


def test_read_node_directory(tmp_path):
    files = tmp_path / "version-2"
    files.mkdir()
    first, second, third = (proposal(zxid(2, k)) for k in (9, 10, 11))
    (files / "log.200000009").write_bytes(log(first) + bytes(50))
    (files / "log.20000000a").write_bytes(log(second, third)[:-3])
    (files / "snapshot.0").write_bytes(b"ZKSN...\0\0\0\x01/")
    (files / "snapshot.200000008").write_bytes(b"ZKSN...\0\0\0\x01/")
    (files / "snapshot.200000009").write_bytes(b"ZKSN... half writ")
    (files / "snapshot.20000000a").write_bytes(b"")
    (files / "snapshot.20000000b.tmp").write_bytes(b"ZKSN...\0\0\0\x01/")
    (files / "snapshot.20000000c.gz").write_bytes(b"compressed")
    (files / "currentEpoch").write_text("2")
    (files / "acceptedEpoch").write_text("3\n")
    found = read_node_directory(tmp_path)
    assert [(each.name, each.txns, each.end) for each in found.logs] == [
        ("log.200000009", (as_read(first),), "padding"),
        ("log.20000000a", (as_read(second),), "torn record"),
    ]
    assert found.snapshots == {0, zxid(2, 8), zxid(2, 12)}
    assert (found.current_epoch, found.accepted_epoch) == (2, 3)
    assert found.damage == ()


def test_read_node_directory_keeps_what_stands_before_damage(tmp_path):
    files = tmp_path / "version-2"
    files.mkdir()
    data = log(proposal(1), proposal(2))
    (files / "log.1").write_bytes(data[:-4] + b"?" + data[-3:])
    (files / "log.3").write_bytes(b"")
    found = read_node_directory(tmp_path)
    assert [[txn.zxid for txn in each.txns] for each in found.logs] == [[1], []]
    assert [each.partition(":")[0] for each in found.damage] == [
        f"transaction log log.1, byte {len(log(proposal(1)))}",
        "transaction log log.3, byte 0",
    ]
    assert found.current_epoch is None


@pytest.mark.parametrize(
    ("end", "behind"),
    [
        (bytes(4096), 0),
        (b"", 0),
        (log(proposal(2))[16:-9], 0),  # torn, as a crash leaves it
        (log(proposal(2))[16:-9] + bytes(4096), 0),
        (log(proposal(2))[16:-1] + bytes(4096), 0),
        (bytes(12) + log(proposal(2))[16:] + bytes(4096), len(log(proposal(2))) - 16),
        (log(proposal(2))[16:-1] + b"?" + log(proposal(3))[16:], len(log(proposal(3))) - 16),
    ],
)
def test_what_stands_behind_the_end_of_a_log_is_told(tmp_path, end, behind):
    """A server that went on after a write had failed will not read it."""
    files = tmp_path / "version-2"
    files.mkdir()
    whole = log(proposal(1))
    (files / "log.1").write_bytes(whole + end)
    found = read_node_directory(tmp_path)
    assert [txn.zxid for txn in found.logs[0].txns] == [1]
    if not behind:
        assert found.unread == ()
        return
    (told,) = found.unread
    count = int(told.partition(" for ")[2].partition(" bytes")[0])
    assert abs(count - behind) <= 8  # the first bytes of a record may be 0
    assert f"behind byte {len(whole)}, where no server reads" in told
    notes = decide({"n1": found}).notes
    assert notes[0] == f"n1: {told}"


def test_of_a_log_of_holes_no_more_is_read_than_of_any(tmp_path, monkeypatch):
    files = tmp_path / "version-2"
    files.mkdir()
    large = [create(number, "/a", data=bytes(1 << 20)) for number in (1, 2, 3, 4)]
    whole = log(*large)
    (files / "log.1").write_bytes(whole)
    monkeypatch.setattr(node_files, "_LITTLE", 1 << 21)
    assert len(read_node_directory(tmp_path).logs[0].txns) == 4
    with (files / "log.1").open("wb") as sparse:
        for at in range(0, len(whole), 4096):
            if any(block := whole[at : at + 4096]):
                sparse.seek(at)
                sparse.write(block)
    assert (files / "log.1").read_bytes() == whole
    found = read_node_directory(tmp_path)
    assert len(found.logs[0].txns) == 1
    assert "which is all that is read" in found.damage[0]


def test_read_node_directory_of_a_server_that_wrote_nothing(tmp_path):
    assert read_node_directory(tmp_path) == NodeFiles()


@pytest.mark.parametrize(
    ("zxid_told", "version", "found"), [(8, 2, (8, 2**64 - 1)), (0, 2, None), (8, 1, None)]
)
def test_the_digest_of_the_newest_snapshot(tmp_path, zxid_told, version, found):
    files = tmp_path / "version-2"
    files.mkdir()
    end = b"\0\0\0\x01/"
    told = struct.pack(">qiQq", zxid_told, version, 2**64 - 1, 77)
    (files / "snapshot.7").write_bytes(b"ZKSN..." + end)
    assert read_node_directory(tmp_path).digest is None
    (files / "snapshot.8").write_bytes(b"ZKSN..." + end + told + end)
    assert read_node_directory(tmp_path).digest == found
    last_zxid = struct.pack(">qq", 9, 78)
    (files / "snapshot.8").write_bytes(b"ZKSN..." + end + told + end + last_zxid + end)
    assert read_node_directory(tmp_path).digest == found, "as 3.9 writes it"
    (files / "snapshot.9").write_bytes(b"ZKSN... half writ")
    assert read_node_directory(tmp_path).digest == found
    (files / "snapshot.9").write_bytes(b"ZKSN..." + bytes(5) + told + end)
    assert read_node_directory(tmp_path).digest is None
