"""The Chubby workload: what its clients ask for, and its members."""

from collections import Counter

from rumpus.checker.history import Op
from rumpus.recipes.chubby.library import Chubby
from rumpus.workloads.chubby.answers import HoldProof
from rumpus.workloads.chubby.chubby import CHUBBY_WORKLOAD, Known
from rumpus.workloads.chubby.files import CHANGE_S, CHILDREN, KEYS, LOCK, SERVERS
from tests.harness.generators.dry_run import imperfect
from tests.workloads.dry_runs import DryRuns, invocations

SECOND = 1_000_000_000
DRY = DryRuns(CHUBBY_WORKLOAD, clients=5, until=60 * SECOND, recipe=Chubby)


def test_the_last_client_reads_the_one_before_it_changes_files_and_the_others_do_all():
    asked = invocations(DRY.load(imperfect))
    by_client = [Counter(op.f for op in asked if op.process % 5 == client) for client in range(5)]
    assert by_client[4].keys() == {"read", "stat"}
    assert by_client[3].keys() == {*("write", "set-acl", "recreate", "add", "use", "misuse")}
    for often in by_client[:3]:
        assert {"acquire", "read", "write", "await", "stat"} <= often.keys()
    assert max(op.time for op in asked) < 61 * SECOND


def test_with_few_clients_all_take_turns_with_the_lock():
    few = DryRuns(CHUBBY_WORKLOAD, clients=2, until=20 * SECOND, recipe=Chubby)
    asked = invocations(few.load(imperfect))
    assert {op.process % 2 for op in asked if op.f == "acquire"} == {0, 1}


def test_in_the_end_all_are_granted_the_lock_and_read_write_and_read():
    asked = [op for op in invocations(DRY.final()) if op.f != "await"]
    assert {op.process % 5 for op in asked if op.f == "acquire"} == set(range(5))
    assert [op.f for op in asked[-15:]] == [*5 * ["read"], *5 * ["write"], *5 * ["read"]]


def test_writes_compare_with_the_version_that_some_client_was_told():
    known = Known()
    told = {"key": KEYS[0], "version": 3}
    came = Op(index=0, time=0, process=0, type="ok", f="read", value=told)
    CHUBBY_WORKLOAD.on_completion(known, came)
    assert known.versions == {KEYS[0]: 3}


def test_what_a_grant_and_a_new_child_raise_is_known_and_never_goes_down():
    known = Known()
    for f, value in (
        ("acquire", {"generation": 5}),
        ("acquire", {"generation": 4}),
        ("add", {"key": CHILDREN, "child": "7", "version": 2}),
    ):
        CHUBBY_WORKLOAD.on_completion(
            known, Op(index=0, time=0, process=0, type="ok", f=f, value=value)
        )
    assert known.versions == {LOCK: 5, CHILDREN: 2}


def test_old_proofs_are_forgotten():
    known = Known()
    for token in range(9):
        known.proofs.append(HoldProof(token=token, sequencer=""))
    assert [proof["token"] for proof in known.proofs] == [5, 6, 7, 8]


def test_clients_that_run_no_server_start_none():
    assert 0 < SERVERS < 5
    assert CHANGE_S > 2.0  # a change must outlast the session of a client that does not answer
