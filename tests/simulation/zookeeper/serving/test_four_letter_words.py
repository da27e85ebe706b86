import re

import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.serving import four_letter_words
from rumpus.simulation.zookeeper.serving.owed_answers import LONGEST_ORDINARY
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.storage.database import Database
from tests.simulation.zookeeper.raw_client import ALL_WORDS, World


def test_ruok_and_isro_have_no_newline(world):
    assert world.word("ruok") == "imok"
    assert world.word("isro") == "rw"


def test_srvr_of_a_fresh_server(world):
    assert world.word("srvr") == (
        f"Zookeeper version: {four_letter_words.VERSION}\n"
        "Latency min/avg/max: 0/0.0/0\n"
        "Received: 1\n"
        "Sent: 0\n"
        "Connections: 1\n"
        "Outstanding: 0\n"
        "Zxid: 0x0\n"
        "Mode: standalone\n"
        "Node count: 5\n"
    )


def test_srvr_counts_packets_and_latencies(world):
    world.cluster.disks["n1"].slow(extra=7_000_000)
    client = world.session()
    client.call(op.create("/a"))
    client.call(op.exists("/a", watch=True))
    client.call(op.set_data("/a", b"1"))
    shown = dict(line.split(": ", 1) for line in world.word("srvr").splitlines())
    assert (shown["Received"], shown["Sent"]) == ("5", "5")  # one packet sent is an event
    shortest, average, longest = map(float, shown["Latency min/avg/max"].split("/"))
    assert shortest == 0
    assert 7 <= longest <= 8
    assert average == pytest.approx(3 * longest / 4, abs=0.8)
    assert (shown["Zxid"], shown["Node count"]) == ("0x3", "6")


def test_words_that_are_not_listed_are_refused_in_words():
    world = World(four_letter_words=frozenset({"srvr"}))
    world.start()
    for word in ("ruok", "stat", "mntr", "envi", "isro"):
        expected = f"{word} is not executed because it is not in the whitelist."
        assert world.word(word) == expected
    assert world.word("srvr").startswith("Zookeeper version: 3.8.0-")


def test_isro_is_listed_with_read_only_mode():
    world = World(four_letter_words=frozenset(), read_only_mode=True)
    world.start()
    assert world.word("isro") == "rw"


def test_unknown_words_are_lengths(world):
    for word in ("GET ", "help"):
        assert world.word(word) == ""


def test_after_the_handshake_a_word_is_a_length(world):
    client = world.session()
    client.send_bytes(b"ruok")
    assert client.closed_silently()


def test_a_word_may_come_in_pieces(world):
    client = world.connect()
    client.send_bytes(b"ru")
    world.run_for(100)
    client.send_bytes(b"ok")
    assert client.receive_all() == b"imok"


def test_stat_and_cons_show_connections(world):
    client = world.session(timeout_ms=6000)
    client.call(op.create("/a"))
    silent = world.connect()
    lines = world.word("stat").splitlines()
    assert lines[1] == "Clients:"
    assert re.fullmatch(r" /10.1.0.1:\d+\[1\]\(queued=0,recved=2,sent=2\)", lines[2])
    assert re.fullmatch(r" /10.1.0.1:\d+\[1\]\(queued=0,recved=0,sent=0\)", lines[3])
    assert lines[5] == ""
    assert lines[-2] == "Mode: standalone"
    shown = world.word("cons").splitlines()[0]
    assert re.fullmatch(
        rf" /10.1.0.1:\d+\[1\]\(queued=0,recved=2,sent=2,sid=0x{client.session:x},lop=CREA,"
        r"est=17000000000\d\d,to=6000,lcxid=0x1,lzxid=0x2,lresp=1000000\d\d,llat=\d,"
        r"minlat=\d,avglat=\d,maxlat=\d\)",
        shown,
    )
    assert silent.quiet(0.1)


def test_wchs_counts_data_watches_only(world):
    first, second = world.session(), world.session()
    first.call(op.get_children("/", watch=True))
    assert world.word("wchs") == "0 connections watching 0 paths\nTotal watches:0\n"
    for client in (first, second):
        client.call(op.exists("/a", watch=True))
    second.call(op.exists("/b", watch=True))
    assert world.word("wchs") == "2 connections watching 2 paths\nTotal watches:3\n"
    a, b = f"0x{first.session:x}", f"0x{second.session:x}"
    assert world.word("wchc") == f"{a}\n\t/a\n{b}\n\t/a\n\t/b\n\n"
    assert world.word("wchp") == f"/a\n\t{a}\n\t{b}\n/b\n\t{b}\n\n"


def test_dump_shows_sessions_ephemerals_and_connections(world):
    client = world.session(timeout_ms=4000)
    client.call(op.create("/e", flags=1))
    shown = world.word("dump")
    assert shown.startswith(
        "SessionTracker dump:\n"
        "Session Sets (1)/(1):\n"
        "1 expire at Tue Nov 14 22:13:26 UTC 2023:\n"
        f"\t0x{client.session:x}\n"
        "ephemeral nodes dump:\n"
        "Sessions with Ephemerals (1):\n"
        f"0x{client.session:x}:\n"
        "\t/e\n"
        "Connections dump:\n"
        "Connections Sets (2)/(2):\n"
        "1 expire at "
    )


def test_mntr_has_what_is_commonly_read(world):
    client = world.session()
    client.call(op.create("/e", b"12345", flags=1))
    client.call(op.exists("/e", watch=True))
    lines = world.word("mntr").splitlines()
    assert [line.split("\t")[0] for line in lines[:2]] == ["zk_version", "zk_server_state"]
    shown = dict(line.split("\t") for line in lines)
    assert shown["zk_server_state"] == "standalone"
    assert shown["zk_num_alive_connections"] == "2"
    assert shown["zk_znode_count"] == "6"
    assert shown["zk_ephemerals_count"] == "1"
    assert shown["zk_watch_count"] == "1"
    assert shown["zk_global_sessions"] == "1"
    assert shown["zk_packets_sent"] == "3"


def test_resets(world):
    world.session().call(op.create("/a"))
    assert world.word("srst") == "Server stats reset.\n"
    assert "Sent: 0\n" in world.word("srvr")
    assert world.word("crst") == "Connection stats reset.\n"
    assert ",lop=NA,est=" in world.word("cons")
    assert "recved=0,sent=0" in world.word("cons")


def test_conf_shows_limits(world):
    assert "minSessionTimeout=4000\nmaxSessionTimeout=40000\n" in world.word("conf")


def test_a_server_that_does_not_serve_says_so_and_closes_handshakes():
    simulator = Simulator(1)
    network = Network(simulator)
    process = simulator.process("n1")
    database = Database(Disk(simulator, "n1"))
    database.load()
    settings = Settings(four_letter_words=ALL_WORDS)
    server = ZooKeeperServer(
        process, network, settings, database, pytest.fail, four_letter_words.WORDS
    )
    assert server.mode is None
    shown = {word: server.answer_word(word.encode()) for word in sorted(ALL_WORDS)}
    assert shown.pop("ruok") == "imok"
    assert shown.pop("isro") == "null"
    assert set(shown.values()) == {"This ZooKeeper instance is not currently serving requests\n"}


@pytest.mark.parametrize(("room", "answer"), [(0, "imok"), (-1, "")])
def test_where_clients_are_owed_too_much_a_word_has_no_answer(room, answer):
    world = World(most_owed=4 << 20, most_owed_in_all=LONGEST_ORDINARY + room)
    world.start()
    assert world.word("ruok") == answer
    world.tear_down()
