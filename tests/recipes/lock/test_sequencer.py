import pytest

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.recipes.lock.sequencer import Sequencer, SequencerLock, Verifier


def test_it_stands_as_long_as_the_hold(crowd, path):
    lock, verifier = SequencerLock(crowd[0], path), Verifier(crowd[1])
    with pytest.raises(NotHeld):
        lock.sequencer()
    assert lock.acquire()
    sequencer = lock.sequencer()
    assert verifier.verify(sequencer)
    lock.release()
    assert not verifier.verify(sequencer)
    assert lock.acquire()
    assert not verifier.verify(sequencer), "the same lock and the same client, another grant"
    assert verifier.verify(lock.sequencer())
    lock.release()


def test_it_ends_with_the_session(crowd, path):
    lock, verifier = SequencerLock(crowd[0], path), Verifier(crowd[1])
    assert lock.acquire()
    sequencer = lock.sequencer()
    crowd.expire(0)
    assert not verifier.verify(sequencer)
    with pytest.raises(NotHeld):
        lock.sequencer()


def test_it_says_lock_mode_and_generation(crowd, path):
    lock = SequencerLock(crowd[0], path)
    assert lock.acquire()
    assert Sequencer.parse(lock.sequencer()) == Sequencer(lock.node, "exclusive", lock.token)
    lock.release()


def test_another_generation_of_the_node_is_stale(crowd, path):
    lock = SequencerLock(crowd[0], path)
    assert lock.acquire()
    forged = str(Sequencer(lock.node, "exclusive", lock.token + 1))
    assert not Verifier(crowd[1]).verify(forged)
    lock.release()


@pytest.mark.parametrize("text", ["", "exclusive:1f", "joint:1f:/a", "exclusive:xyz:/a"])
def test_what_is_no_sequencer_is_refused(text):
    with pytest.raises(ValueError, match=r"sequencer|invalid literal"):
        Sequencer.parse(text)


def test_without_an_answer_there_is_no_telling(crowd, path):
    lock, verifier = SequencerLock(crowd[0], path), Verifier(crowd[1])
    assert lock.acquire()
    crowd.links.cut(1, "black-hole")
    with pytest.raises(LockUnknown):
        verifier.verify(lock.sequencer(), timeout=0.3)
    lock.release()


@pytest.mark.parametrize("name", ["verified-by-path", "verified-once"])
def test_verified_by_the_wrong_thing_it_outlives_its_hold(crowd, path, name):
    kind = LOCKS[name].recipe
    lock, other = (kind(crowd[number], path) for number in (0, 1))
    verifier = kind.verifier(crowd[2])
    assert lock.acquire()
    sequencer = lock.sequencer()
    assert verifier.verify(sequencer)
    lock.release()
    assert other.acquire()
    assert verifier.verify(sequencer)
    other.release()
