"""What servers print and count of themselves, in lines of real servers."""

from pathlib import Path

import pytest

from rumpus.checker.servers.own_words import OwnWords, Truncation, read_own_words

MISMATCH = """\
21:24:50,469 [myid:4] - INFO  [QuorumPeer:QuorumPeer@920] - Peer state changed: following
21:24:50,844 [myid:4] - WARN  [CommitProcessor:4:RateLogger@87] - Message:Digests are not matching. Value is Zxid. Value:12884902072
21:24:50,849 [myid:4] - ERROR [CommitProcessor:4:DataTree@1842] - First digest mismatch on txn: 288230458589642752,256,12884902072,1795641890829,2
, '/rumpus/ephemeral/e3
, expected digest is 2,22662377108
"""  # noqa: E501 - as printed
TRUNC = """\
21:26:36,885 [myid:5] - INFO  [LearnerHandler-/172.28.0.6:48364:LearnerHandler@806] - Synchronizing with Learner sid: 4 maxCommittedLog=0x2000000d3 minCommittedLog=0x100000001 lastProcessedZxid=0x2000000d3 peerLastZxid=0x100000049
21:26:36,886 [myid:5] - INFO  [LearnerHandler-/172.28.0.7:48365:LearnerHandler@806] - Synchronizing with Learner sid: 3 maxCommittedLog=0x2000000d3 minCommittedLog=0x100000001 lastProcessedZxid=0x2000000d3 peerLastZxid=0x2000000d3
21:26:36,886 [myid:5] - INFO  [LearnerHandler-/172.28.0.6:48364:LearnerHandler@1006] - Sending TRUNC zxid=0x100000043  for peer sid: 4
21:26:36,887 [myid:5] - INFO  [LearnerHandler-/172.28.0.7:48365:LearnerHandler@851] - Sending DIFF zxid=0x2000000d3 for peer sid: 3
"""  # noqa: E501 - as printed


def said(tmp_path: Path, printed: str, counters: str | None = None) -> OwnWords:
    (tmp_path / "node.log").write_text(printed)
    if counters is not None:
        (tmp_path / "mntr.txt").write_text(counters)
    return read_own_words(tmp_path)


def test_a_server_that_says_nothing(tmp_path):
    assert read_own_words(tmp_path) == OwnWords()
    assert said(tmp_path, "nothing of note\n", "This ZooKeeper instance is not") == OwnWords()


def test_differences_are_named_once_each(tmp_path):
    found = said(tmp_path, MISMATCH, "zk_version\t3.9.3\nzk_digest_mismatches_count\t7\n")
    assert found == OwnWords((12884902072,), 7)


def test_the_truncation_belongs_to_the_learner_of_the_same_thread(tmp_path):
    found = said(tmp_path, TRUNC).truncations
    assert found == (Truncation(4, 0x100000049, 0x100000043, 0x2000000D3),)


@pytest.mark.parametrize("name", ["node.log", "mntr.txt"])
def test_bytes_that_are_no_text_are_no_error(tmp_path, name):
    (tmp_path / name).write_bytes(bytes(range(256)) * 9)
    assert read_own_words(tmp_path) == OwnWords()


def test_threads_that_ended_with_an_exception_are_counted(tmp_path):
    line = (
        "ERROR [SyncThread:2:ZooKeeperCriticalThread@49] - Severe unrecoverable error, from thread"
    )
    assert said(tmp_path, f"{line} : SyncThread:2\n" * 3).severe == 3
