from rumpus.simulation.zookeeper.serving.commit_processor import SYNC, WRITES, CommitProcessor
from rumpus.simulation.zookeeper.tree.transactions import Entry, ErrorTxn, Header
from rumpus.simulation.zookeeper.wire.request import Request

CREATE, GET_DATA = 1, 4


class Recorder:
    def __init__(self, waits=WRITES):
        self.done = []
        self.processor = CommitProcessor(
            lambda request: self.done.append((request.session, request.cxid)),
            lambda entry, request: self.done.append(
                (hex(entry.header.zxid), request and (request.session, request.cxid))
            ),
            waits,
        )

    def ask(self, session, cxid, kind):
        request = Request(session, cxid, kind, b"")
        self.processor.submit(request)
        return request

    def commit(self, zxid, session, cxid):
        self.processor.commit(Entry(Header(session, cxid, zxid, 0, -1), ErrorTxn(-1), None, b""))


def test_a_read_without_a_write_before_it_is_answered_at_once():
    recorder = Recorder()
    recorder.ask(1, 1, GET_DATA)
    assert recorder.done == [(1, 1)]


def test_reads_wait_for_the_writes_of_their_own_session_only():
    recorder = Recorder()
    recorder.ask(1, 1, CREATE)
    recorder.ask(1, 2, GET_DATA)
    recorder.ask(1, 3, CREATE)
    recorder.ask(1, 4, GET_DATA)
    recorder.ask(2, 1, GET_DATA)
    assert recorder.done == [(2, 1)]
    recorder.commit(1, 1, 1)
    assert recorder.done[1:] == [("0x1", (1, 1)), (1, 2)]
    recorder.commit(2, 1, 3)
    assert recorder.done[3:] == [("0x2", (1, 3)), (1, 4)]
    assert recorder.processor.outstanding() == 0
    recorder.ask(1, 5, GET_DATA)
    assert recorder.done[-1] == (1, 5)


def test_transactions_of_other_servers_are_applied_in_between():
    recorder = Recorder()
    recorder.ask(1, 1, CREATE)
    recorder.commit(1, 9, 1)
    recorder.commit(2, 1, 1)
    recorder.commit(3, 9, 2)
    assert recorder.done == [("0x1", None), ("0x2", (1, 1)), ("0x3", None)]


def test_a_sync_waits_for_the_leader_where_it_is_to():
    recorder = Recorder(WRITES | {SYNC})
    sync = recorder.ask(1, 1, SYNC)
    recorder.ask(1, 2, GET_DATA)
    assert recorder.done == []
    recorder.processor.synced(sync)
    assert recorder.done == [(1, 1), (1, 2)]


def test_a_write_that_a_moved_session_numbered_like_its_sync_is_not_the_sync():
    recorder = Recorder(WRITES | {SYNC})
    sync = recorder.ask(1, 2, SYNC)
    recorder.ask(1, 3, GET_DATA)
    recorder.commit(1, 1, 2)
    assert recorder.done == [("0x1", None)]
    recorder.processor.synced(sync)
    assert recorder.done[1:] == [(1, 2), (1, 3)]
