import base64
import http.client
import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request

import pytest
from kazoo.exceptions import ConnectionLoss

import rumpus
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.testing.control_server import LONGEST_BODY, control_server
from rumpus.usage_error import UsageError


@pytest.fixture
def zk():
    with rumpus.zookeeper() as zk:
        yield zk


@pytest.fixture
def ask(zk):
    """Send a request: the status and the document."""
    with control_server(zk) as address:

        def ask(method, path, body=None, **headers):
            host, _, token = address.removeprefix("http://").partition("/")
            connection = http.client.HTTPConnection(host, timeout=20)
            try:
                text = body if isinstance(body, bytes | None) else json.dumps(body)
                names = {name.replace("_", "-"): value for name, value in headers.items()}
                connection.request(method, f"/{token}{path}", text, names)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())
            finally:
                connection.close()

        yield ask


def test_the_state_of_the_servers(zk, ask):
    status, state = ask("GET", "/state")
    assert (status, state["hosts"], state["leader"]) == (200, zk.hosts, zk.leader)
    assert state["servers"]["n1"] == {
        "address": zk.address("n1"),
        "state": "running",
        "serves": True,
    }


def test_clients_that_go_without_their_answer_are_not_told_on_standard_error(zk, capfd):
    with control_server(zk) as address:
        host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
        for request in (b"GET /no-token/state HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n"):
            for _ in range(20):
                with socket.create_connection((host, int(port)), timeout=20) as client:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.sendall(request)
        urllib.request.urlopen(f"{address}/state", timeout=20).close()
    assert capfd.readouterr().err == ""


def test_a_dump_has_data_in_base64_and_sessions_in_hexadecimal(ask, client):
    client.create("/a", b"\xff", ephemeral=True)
    session = f"{client.client_id[0]:#x}"
    status, dump = ask("GET", "/dump")
    assert status == 200
    assert base64.b64decode(dump["znodes"]["/a"]["data"]) == b"\xff"
    assert dump["znodes"]["/a"]["ephemeral_owner"] == session
    assert dump["sessions"][session]["ephemerals"] == ["/a"]
    assert dump["sessions"][session]["timeout"] == 10


def test_servers_are_killed_and_started_paused_and_resumed(zk, ask):
    for path, state in [
        ("/pause", "paused"),
        ("/resume", "running"),
        ("/kill", "dead"),
        ("/restart", "running"),
    ]:
        assert ask("POST", path, {"node": "n2"}) == (200, {})
        assert zk.state("n2") == state
        assert ask("GET", "/state")[1]["servers"]["n2"]["state"] == state


def test_a_partition_and_its_end(zk, ask):
    leader = zk.leader
    assert ask("POST", "/partition", {"nodes": [leader]}) == (200, {})
    for _ in range(2000):
        if ask("GET", "/state")[1]["leader"] not in (None, leader):
            break
    assert zk.leader != leader
    assert ask("POST", "/heal") == (200, {})
    zk.await_service()


def test_a_leader_is_chosen(zk, ask):
    assert ask("POST", "/elect", {"node": "n1"}) == (200, {})
    assert zk.leader == "n1"


def test_a_session_is_ended_and_a_connection_reset(ask, client):
    lost = threading.Event()
    suspended = threading.Event()
    client.add_listener(lambda state: (lost if state == "LOST" else suspended).set())
    session = f"{client.client_id[0]:#x}"
    assert ask("POST", "/cut", {"session": session}) == (200, {})
    assert suspended.wait(20)
    assert not lost.is_set()
    assert ask("POST", "/expire", {"session": session}) == (200, {})
    assert lost.wait(20)
    assert session not in ask("GET", "/dump")[1]["sessions"]


def test_a_reply_is_lost(ask, client):
    session = f"{client.client_id[0]:#x}"
    status, given = ask("POST", "/drop-reply", {"request": "create", "session": session})
    assert status == 200
    (waiting,) = ask("GET", "/state")[1]["dropped_replies"]
    assert waiting == {
        "id": given["id"],
        "request": "create",
        "number": 1,
        "session": session,
        "happened": False,
    }
    with pytest.raises(ConnectionLoss):
        client.create("/a")
    assert ask("GET", "/state")[1]["dropped_replies"][0]["happened"]
    assert ask("POST", "/withdraw", given) == (200, {})
    assert ask("GET", "/state")[1]["dropped_replies"] == []


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/kill", {"node": "n9"}, "no server is called 'n9'"),
        ("/kill", {}, "missing required field `node`"),
        ("/kill", {"node": 1}, "Expected `str`, got `int`"),
        ("/kill", {"node": "n1", "how": "softly"}, "unknown field `how`"),
        ("/kill", b"{", "the body of POST /kill"),
        ("/kill", b'{"node":"\xff"}', "the body of POST /kill"),
        ("/kill", b'{"node":"\\ud800"}', "the body of POST /kill"),
        ("/kill", b'{"more":' + b"[" * 60_000, "the body of POST /kill"),
        ("/kill", [], "Expected `object`"),
        ("/crash", {"node": "n1"}, "POST /crash is unknown; there are /kill"),
        ("/expire", {"session": "0x1234"}, "no session 0x1234"),
        ("/expire", {"session": "abcx"}, "'abcx' is not 0x and up to 16 hexadecimal digits"),
        ("/expire", {"session": "-0x1"}, "'-0x1' is not"),
        ("/cut", {"session": "0x1"}, "has no connection"),
        ("/drop-reply", {"request": "crate"}, "no request is called 'crate'"),
        ("/partition", {"nodes": []}, "servers on both sides"),
        ("/withdraw", {"id": 7}, "has the id 7"),
    ],
)
def test_a_bad_request_is_refused_with_the_reason(ask, path, body, words):
    status, document = ask("POST", path, body)
    assert status == 400
    assert words in document["error"]


def test_what_cannot_be_done_in_time_is_told_as_such(zk, ask):
    for node in ("n1", "n2"):
        zk.kill(node)
    while zk.leader is not None:
        time.sleep(0.005)
    status, document = ask("POST", "/elect", {"node": "n3", "timeout": 0.05})
    assert (status, "no server leads" in document["error"]) == (503, True)


def test_unknown_questions_long_bodies_and_web_pages_are_refused(zk, ask):
    assert ask("GET", "/kill")[0] == 400
    long = ask("POST", "/kill", b"{}", Content_Length=str(LONGEST_BODY + 1))
    assert (long[0], "Content-Length" in long[1]["error"]) == (400, True)
    absurd = ask("POST", "/kill", b"{}", Content_Length="1" * 5000)
    assert (absurd[0], "Content-Length" in absurd[1]["error"]) == (400, True)
    assert ask("POST", "/kill", {"node": "n1"}, Host="evil.example")[0] == 400
    assert ask("POST", "/kill", {"node": "n1"}, Origin="http://evil.example")[0] == 400
    assert zk.state("n1") == "running"


def test_it_listens_on_the_loopback_only_and_its_port_is_free_afterwards(zk):
    with control_server(zk) as address:
        assert address.startswith("http://127.0.0.1:")
        port = int(address.split(":")[2].partition("/")[0])
        with pytest.raises(EnvironmentRefusal, match=f"port {port} cannot be had.*--control"):
            control_server(zk, port).__enter__()
    threads = threading.active_count()
    with control_server(zk, port):
        assert threading.active_count() == threads + 1
    assert threading.active_count() == threads


def test_who_does_not_know_the_token_can_do_nothing(zk):
    with rumpus.control_server(zk) as address:
        root, _, token = address.rpartition("/")
        for base in (root, f"{root}/{token[:-1]}", f"{root}/{token}x", f"{root}/"):
            for body in (None, b'{"node": "n1"}'):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(f"{base}/kill", body, timeout=20)
                assert refused.value.code == 403
                assert "the whole address that was printed" in refused.value.read().decode()
        assert zk.state("n1") == "running"
        urllib.request.urlopen(f"{address}/kill", b'{"node": "n1"}', timeout=20).close()
        assert zk.state("n1") == "dead"


def test_a_token_can_be_chosen_if_it_cannot_be_guessed(zk):
    with control_server(zk, token="of-this-test-0001") as address:
        assert address.endswith("/of-this-test-0001")
    for token in ("short", "with/slashes/and/so/on", "x" * 257):
        with pytest.raises(UsageError, match="16 to 256 letters"):
            control_server(zk, token=token).__enter__()
