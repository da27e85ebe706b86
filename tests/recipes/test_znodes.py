"""The uses of plain znodes, by hand."""

import time

import pytest
from kazoo.protocol.states import KazooState

from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.catalogue import REGISTERS, SEQUENCES
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.watched_znode import WatchedZnode
from rumpus.recipes.znodes.znode_access import NotAsked

SOUND_REGISTERS = [name for name, kind in REGISTERS.items() if not kind.faulty]
SOUND_SEQUENCES = [name for name, kind in SEQUENCES.items() if not kind.faulty]


@pytest.fixture
def two(crowd, path):
    """Two clients' sides of one recipe, prepared."""

    def make(kind):
        made = [kind(crowd[number], path) for number in (0, 1)]
        for each in made:
            each.prepare()
        return made

    return make


@pytest.mark.parametrize("name", SOUND_REGISTERS)
def test_a_register(two, name):
    one, other = two(REGISTERS[name].recipe)
    assert one.read("r")[:3] == (None, -1, None)
    written = one.write("r", "a")
    assert (written.value, written.version) == ("a", 0)
    assert one.cas("r", 5, "b") is None
    assert one.cas("r", 0, "b").version == 1
    assert other.cas("r", 1, "c").version == 2
    assert other.read("r")[:2] == ("c", 2)
    assert other.cas("q", -1, "first").version == 0
    assert one.cas("q", -1, "second") is None


def test_a_linearizable_read_sees_what_others_have_written(two):
    one, other = two(REGISTERS["linearizable"].recipe)
    for number in range(10):
        one.write("r", str(number))
        assert other.read("r").value == str(number)


def test_a_log(two):
    one, other = two(AppendLog)
    assert one.read("l") == []
    for piece in "abc":
        one.append("l", piece)
        other.append("l", piece.upper())
    assert one.read("l") == other.read("l") == list("aAbBcC")


@pytest.mark.parametrize("name", SOUND_SEQUENCES)
def test_a_sequence(two, name):
    one, other = two(SEQUENCES[name].recipe)
    drawn = [each.generate() for each in (one, other) * 4]
    assert drawn == sorted(set(drawn))


def test_ephemeral_nodes(crowd, two):
    one, other = two(EphemeralNodes)
    session = one.create("e")
    assert session == crowd[0].client_id[0]
    assert other.create("e") is None
    assert not other.remove("e")
    assert other.owners() == ({"e": session}, crowd[1].client_id[0])
    crowd.end_session(0)
    assert other.owners()[0] == {}
    assert other.create("e") == crowd[1].client_id[0]
    assert other.remove("e")
    assert other.owners()[0] == {}


def test_a_transaction_of_several_nodes(two):
    one, other = two(MultiWrite)
    assert one.read() == ({"a": None, "b": None, "c": None}, 0)
    assert one.write("x") == 1
    assert other.read() == ({"a": "x", "b": "x", "c": "x"}, 1)
    assert one.write_if("y", 0) is None
    assert other.read() == ({"a": "x", "b": "x", "c": "x"}, 1)
    assert one.write_if("y", 1) == 2
    assert other.read() == ({"a": "y", "b": "y", "c": "y"}, 2)


def test_waiting_for_a_change(crowd, two):
    one, other = two(WatchedZnode)
    assert one.await_change("w", -1, 0.3) is None
    for number in range(3):
        waiting = crowd.in_thread(one.await_change, "w", number - 1, 20.0)
        other.write("w", str(number))
        assert waiting.result()[:2] == (str(number), number)
    assert one.await_change("w", 0, 5.0).version == 2, "what has changed already"


def test_a_change_is_not_missed_though_the_connection_was_lost(crowd, two):
    one, other = two(WatchedZnode)
    waiting = crowd.in_thread(one.await_change, "w", -1, 30.0)
    crowd.links.cut(0, "reset")
    other.write("w", "new")
    crowd.links.heal(0)
    assert waiting.result().value == "new"


def test_without_a_connection_nothing_is_asked_or_nobody_knows(crowd, two):
    one, _ = two(REGISTERS["linearizable"].recipe)
    crowd.links.cut(0, "reset")
    with pytest.raises((NotAsked, Unanswered)):
        one.write("r", "a")


@pytest.mark.parametrize(("seconds", "pause", "dropped"), [(0.1, 2.0, 1), (0, 0.5, 0), (60, 0, 0)])
def test_a_connection_is_dropped_while_something_goes_on(crowd, two, seconds, pause, dropped):
    one, _ = two(WatchedZnode)
    session, told = crowd[0].client_id[0], []
    crowd[0].add_listener(told.append)
    with one.reconnecting_after(seconds):
        time.sleep(pause)
    assert told.count(KazooState.SUSPENDED) == dropped
    assert one.read("w").session == session
