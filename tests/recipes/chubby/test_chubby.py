import threading
import time

import pytest
from kazoo.exceptions import ConnectionLoss
from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from rumpus.recipes.chubby.catalogue import with_handle
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import GenerationMismatch, Mode, WrongMode
from rumpus.recipes.chubby.handle_events import EventKind, HandleEvents
from rumpus.recipes.chubby.lease import HandleInvalid, InJeopardy, Lease, Standing
from rumpus.recipes.chubby.library import Chubby
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.outcomes import NotDone

LONG = 30.0


def opened(crowd, path, number, name="f", **options):
    """A session of client ``number``, and a handle on a file that is created if need be."""
    session = Chubby(crowd[number], path, name=f"c{number}")
    return session, session.open(name, contents=b"new", timeout=LONG, **options)


def test_contents_are_cached_until_another_client_writes(crowd, path):
    (_, one), (_, two) = (opened(crowd, path, number) for number in range(2))
    first = one.get_contents_and_stat(LONG)
    assert (first.data, first.cached, first.stat.content_generation) == (b"new", False, 0)
    assert one.get_contents_and_stat(LONG) == first._replace(cached=True)
    assert two.set_contents(b"newer", 0, LONG) == 1
    again = one.get_contents_and_stat(LONG)
    assert (again.data, again.cached) == (b"newer", False)
    with pytest.raises(GenerationMismatch):
        one.set_contents(b"lost", 0, LONG)
    assert two.get_contents_and_stat(LONG).data == b"newer"


def test_a_client_that_is_cut_off_holds_up_a_change_until_its_session_ends(crowd, path, eventually):
    (session, one), (_, two) = (opened(crowd, path, number) for number in range(2))
    assert not one.get_contents_and_stat(LONG).cached
    crowd.links.cut(0, "reset")
    with pytest.raises(NotDone, match="timed out"):
        two.set_contents(b"newer", timeout=0.3)
    assert one.get_contents_and_stat(0.0).data == b"new"
    assert two.set_contents(b"newer", timeout=120) == 1
    with pytest.raises((InJeopardy, HandleInvalid)):
        one.get_contents_and_stat(0.1)
    crowd.links.heal(0)
    eventually(lambda: session.standing is Standing.EXPIRED)
    with pytest.raises(HandleInvalid, match="expired"):
        one.get_contents_and_stat(LONG)
    _, fresh = opened(crowd, path, 0)
    assert fresh.get_contents_and_stat(LONG).data == b"newer"


def test_a_call_that_was_blocked_in_jeopardy_goes_on_when_the_session_is_safe(
    crowd, path, eventually
):
    told = []
    session = Chubby(crowd[0], path, grace_period=60.0)
    handle = session.open("f", contents=b"new", listener=told.append, timeout=LONG)
    crowd.links.cut(0, "reset")
    eventually(lambda: session.standing is Standing.JEOPARDY)
    reading = crowd.in_thread(handle.get_stat, LONG)
    time.sleep(0.1)
    assert reading.is_alive()
    crowd.links.heal(0)
    try:
        assert reading.result().content_generation == 0
        ending = EventKind.SAFE
    except HandleInvalid:  # the servers had ended the session
        ending = EventKind.EXPIRED
    kinds = [event.kind for event in eventually(lambda: told if told[-1].kind is ending else None)]
    assert kinds[-2:] == [EventKind.JEOPARDY, ending]


def test_who_registers_in_jeopardy_is_told_so_at_once(crowd, path, eventually):
    told = []
    lease = Lease(crowd[0], path, 60.0)
    eventually(lambda: lease.standing is Standing.SAFE)
    crowd.links.cut(0, "reset")
    eventually(lambda: lease.standing is Standing.JEOPARDY)
    lease.listen(told.append)
    assert told == [Standing.JEOPARDY]
    lease.forget(told.append)
    lease.close()
    crowd.links.heal(0)
    assert told == [Standing.JEOPARDY]


def test_a_closed_handle_leaves_no_listener_behind(crowd, path):
    session, _ = opened(crowd, path, 0)
    before = len(crowd[0].state_listeners)
    session.open("f", timeout=LONG).close()
    assert len(crowd[0].state_listeners) == before


def test_generation_numbers_grow_as_the_paper_says(crowd, path):
    (_, one), (_, two) = (opened(crowd, path, number) for number in range(2))
    assert one.get_stat(LONG)[1:] == (0, 0, 0)
    assert one.acquire("shared", LONG)
    assert two.acquire("shared", LONG)
    assert (one.generation, two.generation, one.get_stat(LONG).lock_generation) == (1, 1, 1)
    one.release()
    two.release()
    assert two.acquire("exclusive", LONG)
    assert (two.generation, one.get_stat(LONG).lock_generation) == (2, 2)
    two.release()
    assert one.set_acl([*OPEN_ACL_UNSAFE, *READ_ACL_UNSAFE], LONG) == 1
    assert one.get_stat(LONG).acl_generation == 1
    before = one.get_stat(LONG).instance
    two.delete(LONG)
    with pytest.raises(HandleInvalid, match="deleted"):
        one.get_stat(LONG)
    _, three = opened(crowd, path, 2)
    assert three.get_stat(LONG).instance > before
    for look in (one.get_contents_and_stat, one.read_dir):
        with pytest.raises(HandleInvalid, match="created again"):
            look(LONG)


def test_a_change_of_the_list_whose_answer_is_lost_is_made_once(crowd, path):
    _, handle = opened(crowd, path, 0)
    client = crowd[0]
    change, lost = client.set_acls_async, []

    def without_answer(*arguments):
        answer = change(*arguments)
        if not lost:
            answer.get(timeout=LONG)
            answer = client.handler.async_result()
            answer.set_exception(ConnectionLoss())
            lost.append(answer)
        return answer

    client.set_acls_async = without_answer
    assert handle.set_acl(OPEN_ACL_UNSAFE, LONG) == 1
    assert len(lost) == 1
    assert handle.get_stat(LONG).acl_generation == 1


def test_a_file_inherits_the_access_control_list_of_its_parent(crowd, path):
    session, parent = opened(crowd, path, 0, "a")
    acl = [*OPEN_ACL_UNSAFE, *READ_ACL_UNSAFE]
    parent.set_acl(acl, LONG)
    session.open("a/b", contents=b"", timeout=LONG)
    session.open("a/c", contents=b"", acl=OPEN_ACL_UNSAFE, timeout=LONG)
    crowd.bystander.sync(path)
    found = [crowd.bystander.get_acls(f"{path}/files/a/{name}")[0] for name in "bc"]
    assert set(found[0]) == set(acl)
    assert found[1] == OPEN_ACL_UNSAFE
    assert parent.read_dir(LONG) == ["b", "c"]
    with pytest.raises(NotDone, match="children"):
        parent.delete(LONG)
    with pytest.raises(NotDone, match="no file"):
        session.open("x/y", contents=b"", timeout=LONG)


def test_the_lock_excludes_and_a_failed_holder_delays_the_next(crowd, path):
    (_, one), (_, two) = (opened(crowd, path, number, lock_delay=3.0) for number in range(2))
    assert one.acquire("exclusive", LONG)
    assert one.held
    assert not two.try_acquire("shared")
    with pytest.raises(NotDone, match="already"):
        one.acquire("shared", LONG)
    one.release()
    assert two.acquire("shared", LONG)
    assert two.token is None
    two.release()
    with pytest.raises(NotHeld):
        two.release()
    assert one.acquire("exclusive", LONG)
    crowd.end_session(0)
    began = time.monotonic()
    assert two.acquire("exclusive", LONG)
    assert time.monotonic() - began >= 3.0


def test_a_sequencer_is_valid_while_its_hold_lasts(crowd, path):
    (_, one), (_, two) = (opened(crowd, path, number) for number in range(2))
    with pytest.raises(NotHeld):
        one.get_sequencer()
    assert one.acquire("exclusive", LONG)
    sequencer = one.get_sequencer()
    assert two.check_sequencer(sequencer, LONG)
    two.set_sequencer(sequencer)
    two.set_contents(b"by the holder", timeout=LONG)
    one.release()
    assert not two.check_sequencer(sequencer, LONG)
    with pytest.raises(StaleSequencer):
        two.set_contents(b"too late", timeout=LONG)
    with pytest.raises(StaleSequencer):
        two.set_acl(OPEN_ACL_UNSAFE, timeout=LONG)
    with pytest.raises(StaleSequencer):
        two.get_contents_and_stat(LONG)
    assert one.get_contents_and_stat(LONG).data == b"by the holder"


def test_events_come_after_what_they_tell(crowd, path, eventually):
    told, reads = [], []
    came = threading.Event()

    def listener(event):
        told.append(event)
        came.set()

    session, one = opened(crowd, path, 0)
    watching = session.open("f", events={*EventKind}, listener=listener, timeout=LONG)
    _, two = opened(crowd, path, 1)

    def has(kind, number):
        return lambda: (kind, number) in told

    generation = two.set_contents(b"newer", timeout=LONG)
    eventually(has(EventKind.CONTENTS_CHANGED, generation))
    reads.append(one.get_contents_and_stat(LONG).data)
    assert reads == [b"newer"]
    two_session, child = opened(crowd, path, 2, "f/child")
    eventually(has(EventKind.CHILD_CHANGED, 1))
    assert watching.acquire("exclusive", LONG)
    eventually(has(EventKind.LOCK_ACQUIRED, 1))
    waiting = crowd.in_thread(two.acquire, "exclusive", LONG)
    eventually(has(EventKind.CONFLICTING_REQUEST, 1))
    watching.release()
    assert waiting.result()
    crowd.links.cut(0, "reset")
    crowd.links.heal(0)
    eventually(has(EventKind.MASTER_FAILED_OVER, 0))
    child.delete(LONG)
    two.delete(LONG)
    eventually(has(EventKind.HANDLE_INVALID, 0))
    two_session.close()


class LooksLate(HandleEvents):
    """Looks for the first time when it is let."""

    let = threading.Event()

    def _look(self, session, deadline):
        assert self.let.wait(LONG)
        super()._look(session, deadline)


def test_what_happens_before_the_first_look_is_told(crowd, path, eventually):
    told = []
    session = with_handle(_events_class=LooksLate)(crowd[0], path, name="c0")
    watching = session.open(
        "f", events={*EventKind}, listener=told.append, contents=b"", timeout=LONG
    )
    opened(crowd, path, 1, "f/child")
    assert watching.acquire("exclusive", LONG)
    _, two = opened(crowd, path, 2)
    waiting = crowd.in_thread(two.acquire, "exclusive", LONG)
    eventually(lambda: len(crowd[1].get_children(f"{path}/locks/f")) == 3)
    LooksLate.let.set()
    for event in (
        (EventKind.CHILD_CHANGED, 1),
        (EventKind.LOCK_ACQUIRED, 1),
        (EventKind.CONFLICTING_REQUEST, 1),
    ):
        eventually(lambda event=event: event in told)
    watching.release()
    assert waiting.result()


def test_a_poisoned_handle_and_one_of_another_mode_refuse(crowd, path, eventually):
    session, handle = opened(crowd, path, 0, mode=Mode.READ)
    for refused in (
        lambda: handle.set_contents(b"x", timeout=LONG),
        lambda: handle.acquire("shared", LONG),
        lambda: handle.set_acl(OPEN_ACL_UNSAFE, timeout=LONG),
    ):
        with pytest.raises(WrongMode):
            refused()
    other = session.open("f", timeout=LONG)
    assert other.acquire("exclusive", LONG)
    node = other.node
    handle.poison()
    with pytest.raises(HandleInvalid, match="poisoned"):
        handle.get_contents_and_stat(LONG)
    other.close()
    with pytest.raises(HandleInvalid, match="closed"):
        other.get_stat(LONG)
    eventually(lambda: crowd.stat(node) is None)


def test_a_change_of_a_client_that_died_is_taken_over(crowd, path):
    _, one = opened(crowd, path, 0)
    crowd.bystander.set(f"{path}/caches/f", b'["nobody", null]')
    assert not one.get_contents_and_stat(LONG).cached
    assert not one.get_contents_and_stat(LONG).cached
    assert one.set_contents(b"newer", timeout=120) == 1
    one.get_contents_and_stat(LONG)
    assert one.get_contents_and_stat(LONG).cached
