"""What `rumpus serve` answers, to whom, and what it keeps to itself."""

import asyncio
import os
import re
import signal
import socket
import time
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Thread

import pytest

from docs.generators.ten_nights import make_nights
from rumpus.nights.memory.store import Store
from rumpus.nights.records import NightRow
from rumpus.results.reports.assets import asset, hashed
from rumpus.runs.made_here import note_written
from rumpus.serving.application import Answers, KnownHosts, application
from rumpus.serving.bounded_server import bounded
from rumpus.serving.served_files import inside, listed, newest_runs, opened
from tests.sampling import sampled

LOCAL = "127.0.0.1:8017"


class Answer:
    def __init__(self, messages):
        begun, *rest = messages
        self.status = begun["status"]
        self.headers = {key.decode(): value.decode() for key, value in begun["headers"]}
        self.body = b"".join(each.get("body", b"") for each in rest)
        self.text = self.body.decode(errors="replace")


@pytest.fixture
def place(tmp_path):
    """A directory of runs with a store of nights in it."""
    runs = tmp_path / "runs"
    runs.mkdir()
    with Store.opened(runs / "nights.sqlite", write=True) as store:
        make_nights(store, 2)
    return runs


@pytest.fixture
def ask(place):
    """Ask the application in this process."""
    app = application(Answers(place / "nights.sqlite", place), "127.0.0.1")

    def call(path, *, host=LOCAL, method="GET"):
        raw, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": urllib.request.unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", host.encode())],
            "root_path": "",
            "scheme": "http",
        }
        messages = []

        async def receive():
            await asyncio.sleep(60)

        async def send(message):
            messages.append(message)

        asyncio.run(app(scope, receive, send))
        return Answer(messages)

    return call


def test_the_pages_are_those_of_the_store_as_it_is_now(ask, place):
    first = ask("/")
    assert first.status == 200
    assert "<title>✔ 2026-11-18 is green</title>" in first.text
    assert '<a href="runs/">Runs</a>' in first.text
    assert "refresh" not in first.headers
    assert ask("/nights/2026-11-17.html").status == 200
    with Store.opened(place / "nights.sqlite", write=True) as store:
        store.begin_night(NightRow(name="2033-05-18", began=2e9))
    later = ask("/index.html")
    assert "2033-05-18 is not ended" in later.text
    assert later.headers["refresh"] == "30"


def test_a_case_is_text(ask):
    cases = re.findall(r'href="failures/(\w+)\.html"', ask("/failures.html").text)
    answer = ask(f"/cases/{cases[0]}.case.json")
    assert answer.headers["content-type"].startswith("text/plain")
    assert '"expects"' in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(ask, method):
    assert ask("/", method=method).status == 405
    assert ask("/runs/", method=method).status == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8017", "", "127.0.0.1.a.org"])
def test_a_name_of_somebody_else_is_not_served(ask, host):
    """A page elsewhere that lets its name lead to this machine must not read what is here."""
    answer = ask("/", host=host)
    assert answer.status == 421
    assert "2026" not in answer.text


def test_the_name_that_was_given_and_addresses_are_served():
    hosts = KnownHosts(None, "Ci.example")
    for known in ("ci.example:80", "localhost", "127.0.0.1:8017", "[::1]:8017", "192.0.2.7"):
        assert hosts.knows(known)


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../secret.txt",
        "/runs/%2e%2e/secret.txt",
        "/runs/lock/..%2f..%2fsecret.txt",
        "/runs//../secret.txt",
        "/runs/out/secret.txt",
        "/runs/link.txt",
        "/runs/\0",
        "/runs/pipe",
        "/../secret.txt",
        "/nights/../../secret.txt",
        "/nothing",
    ],
)
def test_nothing_outside_the_directory_of_runs_is_served(ask, place, path):
    secret = place.parent / "secret.txt"
    secret.write_text("secret words")
    (place / "lock").mkdir()
    (place / "out").symlink_to(place.parent)
    (place / "link.txt").symlink_to(secret)
    os.mkfifo(place / "pipe")
    answer = ask(path)
    assert answer.status == 404
    assert "secret words" not in answer.text


def test_files_of_runs_are_served_as_what_they_are(ask, place):
    run = place / "lock" / "20261127T000000.000Z"
    run.mkdir(parents=True)
    (run / "test.json").write_text('{"workload": "lock", "recipe": "<b>fair"}')
    (run / "report.html").write_text("<script>alert(1)</script>")
    (run / "history.jsonl").write_text("{}\n")
    (run / "bundle.zip").write_bytes(b"PK")
    (run / "a b#?:<i>.txt").write_text("odd")
    (place / "latest").symlink_to("lock/20261127T000000.000Z")
    assert "lock/20261127T000000.000Z" in ask("/runs/").text
    page = ask("/runs/latest/").text
    assert "&lt;b&gt;fair" in page
    assert "<b>fair" not in page
    assert 'href="a%20b%23%3F%3A%3Ci%3E.txt"' in page
    assert ask("/runs/latest/a%20b%23%3F%3A%3Ci%3E.txt").text == "odd"
    assert ask("/runs/latest/report.html").text == "<script>alert(1)</script>"
    assert ask("/runs/latest/history.jsonl").headers["content-type"].startswith("text/plain")
    assert ask("/runs/latest/bundle.zip").headers["content-disposition"] == "attachment"
    assert ask("/runs/latest").headers["location"] == "./latest/"
    for path in ("/", "/runs/", "/runs/latest/", "/runs/latest/report.html", "/nothing"):
        headers = ask(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_only_a_report_that_was_written_here_runs_its_scripts(ask, place):
    def policy(name="report.html"):
        return ask(f"/runs/lock/1/{name}").headers["content-security-policy"].split("; ")

    run = place / "lock" / "1"
    run.mkdir(parents=True)
    leads_away = '<meta http-equiv="refresh" content="0; url=https://example.org/">'
    for name in ("report.html", "other.html"):
        (run / name).write_text(leads_away)
        # Without `allow-scripts` nothing on a page acts by itself, a refresh neither.
        assert {"sandbox", "default-src 'none'"} <= set(policy(name))
        assert not any("script" in each for each in policy(name))
    (run / "report.html").write_text("<p>made here</p>")
    note_written(run)
    ours = {"sandbox allow-scripts", f"script-src '{hashed(asset('report.js'))}'"}
    assert ours | {"default-src 'none'"} <= set(policy())
    assert "sandbox" in policy("other.html")
    (run / "report.html").write_text(leads_away)
    assert "sandbox" in policy()


def test_a_file_that_grows_is_served_as_long_as_it_was(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"a" * 100_000)
    size, pieces = opened(path)
    with path.open("ab") as file:
        file.write(b"b")
    assert sum(map(len, pieces)) == size == 100_000


def test_a_path_is_found_under_its_directory_only(tmp_path):
    (tmp_path / "in").mkdir()
    assert inside(tmp_path, "") == inside(tmp_path, "/") == tmp_path.resolve()
    assert inside(tmp_path, "in/") == (tmp_path / "in").resolve()
    assert inside(tmp_path / "nothing", "") is None
    assert inside(tmp_path, "x" * 5000) is None


def test_runs_are_listed_newest_first_and_once(tmp_path):
    for name in ("lock/2", "lock/1", "queue/3"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "test.json").write_text("{}")
    (tmp_path / "lock" / "latest").symlink_to("2")
    assert [each.name for each in newest_runs(tmp_path)] == ["3", "2", "1"]


def test_without_a_store_it_is_said_and_runs_are_there(ask, place):
    (place / "nights.sqlite").unlink()
    answer = ask("/")
    assert (answer.status, "no nights yet" in answer.text) == (503, True)
    assert ask("/runs/").status == 200


@sampled("number", [signal.SIGINT, signal.SIGTERM], of=2)
def test_it_serves_until_it_is_interrupted(program, place, number):
    words = ["serve", "--port", "0", "--store", place / "nights.sqlite", "--runs", place]
    started = program(*map(str, words), cwd=place)
    started.await_words("Ctrl-C ends it")
    address = started.process.stdout.readline().strip()
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert b"2026-11-18 is green" in answer.read()
    started.interrupt(number)
    assert started.end().code == 0
    assert started.lines == ["Ctrl-C ends it", "ended"]


def test_a_port_that_is_taken_is_told(rumpus, place):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = rumpus("serve", "--port", port, "--store", place / "nights.sqlite")
    assert answer.code == 4
    assert "choose another --port" in answer.err


def test_of_a_large_folder_the_first_entries_are_listed_and_the_rest_is_counted(
    ask, place, monkeypatch
):
    for number in range(7):
        (place / f"{number}.txt").touch()
    (place / "zoo").mkdir()
    entries, more = listed(place, 3)
    assert ([each.name for each in entries], more) == (["zoo/", "0.txt", "1.txt"], 6)
    (place / "zoo" / "one.txt").touch()
    assert "not listed" not in ask("/runs/zoo/").text
    monkeypatch.setattr("rumpus.serving.application.listed", partial(listed, most=3))
    assert "And 6 more, which are not listed." in ask("/runs/").text


LONG = b"x" * 8_000_000


async def long_answer(_scope, _receive, send):
    size = [(b"content-length", str(len(LONG)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": size})
    await send({"type": "http.response.body", "body": LONG})


@contextmanager
def serving(**bounds):
    """The address of a server in a thread."""
    server = bounded(long_answer, **bounds)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


WHOLE = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"


def connected(address, request):
    client = socket.create_connection(address, timeout=20)
    client.sendall(request)
    return client


def received(client, at_once=1 << 20):
    with suppress(ConnectionError):
        return b"".join(iter(partial(client.recv, at_once), b""))
    return b""


@pytest.mark.parametrize("request_", [b"", WHOLE[:20], WHOLE, WHOLE.replace(b"close", b"alive")])
def test_clients_that_do_nothing_lose_their_places_to_others(request_):
    with serving(most=3, patience=0.2) as address, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connected(address, request_))
        answer = b""
        until = time.monotonic() + 20
        while not answer.endswith(LONG) and time.monotonic() < until:
            with connected(address, WHOLE) as client:
                answer = received(client)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(LONG)


def test_a_client_that_reads_slowly_gets_everything():
    with serving(patience=0.2) as address, connected(address, WHOLE) as client:
        pieces = []
        while piece := client.recv(1 << 20):
            pieces.append(piece)
            time.sleep(0.05)
    assert b"".join(pieces).endswith(LONG)
