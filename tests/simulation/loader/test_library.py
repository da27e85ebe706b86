"""Modules of Python's library in simulated processes: on virtual time, each process for itself."""

import io
import textwrap

import pytest

from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.loader.guards import guarded
from tests.simulation.loader.conftest import World

ASYNCIO = """\
    import asyncio, contextvars, time
    NAME = contextvars.ContextVar("NAME", default="nobody")
    async def work(name, seconds):
        NAME.set(name)
        await asyncio.sleep(seconds)
        return NAME.get(), asyncio.get_running_loop()
    async def all_of_it(host):
        global seen, loop
        loop = asyncio.get_running_loop()
        before = time.monotonic()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(f"{host}{n}", n)) for n in (3, 1, 2)]
        results = [task.result() for task in tasks]
        assert all(its is loop for _, its in results)
        seen = [name for name, _ in results]
        assert 3 <= time.monotonic() - before < 3.01
        try:
            async with asyncio.timeout(0.5):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("timeout")
        seen.append(await asyncio.to_thread(blocking, 2))
        seen.append(await loop.run_in_executor(None, blocking, 1))
        seen.append(round(time.monotonic() - before, 2))
        assert NAME.get() == "nobody"
    def blocking(seconds):
        time.sleep(seconds)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return "thread"
    def main():
        asyncio.run(all_of_it(HOST))
"""


def test_asyncio_in_several_processes_at_once(world):
    modules = {}
    for host in "abc":
        name = world.write(textwrap.dedent(f"    HOST = {host!r}\n{ASYNCIO}"))
        space = world.space(name, host=host)
        modules[host] = space.load(name)
        space.start(modules[host].main)
    with guarded(world.simulator):
        world.simulator.run(100 * SECOND)
    assert world.simulator.failures == []
    for host, module in modules.items():
        names = [f"{host}3", f"{host}1", f"{host}2"]
        assert module.seen == [*names, "timeout", "thread", "thread", 6.5]
    assert len({id(module.loop) for module in modules.values()}) == 3


def test_asyncio_streams_between_processes(world):
    world.start(
        """
        import asyncio
        async def serve(reader, writer):
            while line := await reader.readline():
                writer.write(line.upper())
                await writer.drain()
            writer.close()
        async def all_of_it():
            async with await asyncio.start_server(serve, "0.0.0.0", 7000) as server:
                await server.serve_forever()
        def main():
            asyncio.run(all_of_it())
        """,
        host="s",
    )
    module = world.start(
        """
        import asyncio
        async def ask(n):
            reader, writer = await asyncio.open_connection("s", 7000)
            writer.write(b"hello %d\\n" % n * 1000)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer
        async def all_of_it():
            global seen
            seen = await asyncio.gather(*map(ask, range(5)))
            try:
                await asyncio.open_connection("s", 7001)
            except ConnectionRefusedError:
                seen.append("refused")
        def main():
            asyncio.run(all_of_it())
        """,
        host="c",
    )
    with guarded(world.simulator):
        world.simulator.run(100 * SECOND)
    assert world.simulator.failures == []
    assert module.seen == [b"HELLO %d\n" % n * 1000 for n in range(5)] + ["refused"]


def test_asynchronous_generators_are_closed_by_the_loop_of_their_process(world):
    source = """
        import asyncio
        closed = []
        async def numbers(name):
            try:
                while True:
                    await asyncio.sleep(1)
                    yield 1
            finally:
                await asyncio.sleep(1)
                closed.append((name, asyncio.get_running_loop()))
        async def all_of_it():
            global loop
            loop = asyncio.get_running_loop()
            dropped = numbers("dropped")
            await anext(dropped)
            del dropped
            await asyncio.sleep(5)
            global kept
            kept = numbers("kept")
            await anext(kept)
        def main():
            asyncio.run(all_of_it())
    """
    with guarded(world.simulator):
        modules = [world.start(source, host=host) for host in "ab"]
        world.simulator.run(100 * SECOND)
    assert world.simulator.failures == []
    for module in modules:
        assert module.closed == [("dropped", module.loop), ("kept", module.loop)]


def test_two_runs_of_asyncio_are_the_same_run(tmp_path):

    def digest(seed):
        world = World(tmp_path, seed)
        world.run("HOST = 'x'\n" + textwrap.dedent(ASYNCIO))
        digest = world.simulator.digest()
        world.simulator.close()
        return digest

    assert digest(3) == digest(3) != digest(4)


def test_executors_and_queues(world):
    with guarded(world.simulator):
        module = world.run(
            """
            import concurrent.futures, queue, threading, time
            def square(n):
                time.sleep(n)
                return n * n
            def main():
                global seen
                with concurrent.futures.ThreadPoolExecutor(3) as executor:
                    seen = list(executor.map(square, (3, 1, 2)))
                    futures = [executor.submit(square, n) for n in (2, 1)]
                    done = concurrent.futures.as_completed(futures)
                    seen += [future.result() for future in done]
                    late = executor.submit(square, 5)
                    try:
                        late.result(timeout=1)
                    except TimeoutError:
                        seen.append("late")
                for kind in (queue.SimpleQueue, queue.Queue, queue.LifoQueue, queue.PriorityQueue):
                    made = kind()
                    threading.Timer(2, made.put, ("x",)).start()
                    try:
                        made.get(timeout=1)
                    except queue.Empty:
                        seen.append(made.get())
            """
        )
    assert module.seen == [9, 1, 4, 1, 4, "late", "x", "x", "x", "x"]


def test_logging_through_a_queue_on_virtual_time(world):
    stream = io.StringIO()
    world.run(
        """
        import logging, logging.handlers, multiprocessing, queue, sys, time
        def main():
            records = queue.SimpleQueue()
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(processName)s"))
            listener = logging.handlers.QueueListener(records, handler)
            listener.start()
            log = logging.getLogger("x")
            log.addHandler(logging.handlers.QueueHandler(records))
            time.sleep(61)
            log.warning("said")
            listener.stop()
        """,
        stderr=stream,
    )
    assert stream.getvalue() == "2023-11-14 22:14:21,000 MainThread MainProcess\n"


def test_timers_and_schedules(world):
    module = world.run(
        """
        import sched, threading, time
        seen = []
        def note(word):
            seen.append((word, round(time.monotonic() - began, 3)))
        def main():
            global began
            began = time.monotonic()
            threading.Timer(90, note, ("timer",)).start()
            cancelled = threading.Timer(1, note, ("never",))
            cancelled.start()
            cancelled.cancel()
            plan = sched.scheduler(time.monotonic, time.sleep)
            for delay in (60, 30):
                plan.enter(delay, 1, note, (f"sched {delay}",))
            plan.run()
        """
    )
    assert module.seen == [("sched 30", 30), ("sched 60", 60), ("timer", 90)]


def test_a_threading_server_and_its_clients(world):
    world.start(
        """
        import socketserver, time
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    time.sleep(1)
                    self.wfile.write(line.upper())
        def main():
            with socketserver.ThreadingTCPServer(("", 7000), Handler) as server:
                server.serve_forever()
        """,
        host="s",
    )
    module = world.start(
        """
        import concurrent.futures, socket, time
        def ask(n):
            with socket.create_connection(("s", 7000)) as connection:
                connection.sendall(b"line %d\\n" % n)
                return connection.makefile().readline()
        def main():
            global seen, took
            before = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor() as executor:
                seen = list(executor.map(ask, range(4)))
            took = time.monotonic() - before
        """,
        host="c",
    )
    with guarded(world.simulator):
        world.simulator.run(100 * SECOND)
    assert world.simulator.failures == []
    assert module.seen == [f"LINE {n}\n" for n in range(4)]
    assert 1 <= module.took < 1.1


def test_http_between_two_processes(world):
    log = io.StringIO()
    world.start(
        """
        import http.server
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(201)
                self.end_headers()
                self.wfile.write(body[::-1])
        def main():
            http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
        """,
        host="web",
        stderr=log,
    )
    module = world.start(
        """
        import http.client, urllib.error, urllib.request
        def main():
            global seen, date, missing
            with urllib.request.urlopen("http://web:8080/x", timeout=5) as answer:
                seen = [answer.status, answer.read()]
                date = answer.headers["Date"]
            connection = http.client.HTTPConnection("web", 8080)
            connection.request("POST", "/", b"abc")
            answer = connection.getresponse()
            seen += [answer.status, answer.read()]
            connection.close()
            try:
                urllib.request.urlopen("http://web:8081/", timeout=5)
            except urllib.error.URLError as error:
                seen.append(type(error.reason).__name__)
        """,
        host="c",
    )
    with guarded(world.simulator):
        world.simulator.run(100 * SECOND)
    assert world.simulator.failures == []
    assert module.seen == [200, b"hello", 201, b"cba", "ConnectionRefusedError"]
    assert module.date == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert '"GET /x HTTP/1.1" 200' in log.getvalue()


def test_a_server_knows_its_port_once_it_is_bound(world):
    module = world.run(
        """
        import socketserver
        def main():
            global ports
            with socketserver.TCPServer(("", 0), None) as one:
                with socketserver.TCPServer(("", 0), None) as two:
                    ports = one.server_address[1], two.server_address[1]
        """
    )
    assert len(set(module.ports)) == 2
    assert 0 not in module.ports


def test_modules_imported_by_name_are_the_process_s_own(world):
    package = world.directory / "plugins"
    package.mkdir()
    (package / "__init__.py").write_text("from importlib import import_module\n")
    (package / "one.py").write_text("import time\nSEEN = []\n")
    name = world.write(
        """
        import importlib, importlib.metadata
        def load():
            one = importlib.import_module("plugins.one")
            assert importlib.import_module(".one", "plugins") is one
            assert importlib.import_module("time") is one.time
            assert importlib.metadata.version("kazoo")
            return one
        """
    )
    one, two = (world.space(name, host=host).load(name).load() for host in "ab")
    one.SEEN.append(1)
    assert two.SEEN == []
    module = world.space(name).load(name)
    with pytest.raises(TypeError, match="'package' argument is required"):
        module.importlib.import_module(".one")
    with pytest.raises(ModuleNotFoundError):
        module.importlib.import_module("no_such_module")


def test_no_library_in_c_is_found(world):
    module = world.run(
        """
        import ctypes.util
        from ctypes.util import find_library
        def main():
            global found
            found = find_library("c"), ctypes.util.find_library("pthread")
            assert ctypes.sizeof(ctypes.c_int64) == 8
        """
    )
    assert module.found == (None, None)


def test_annotations_in_quotes_name_the_process_s_own_classes(world):
    module = world.run(
        """
        from __future__ import annotations
        import dataclasses, enum, functools, typing
        from typing import ClassVar
        class Colour(enum.Enum):
            RED = 1
        @dataclasses.dataclass(frozen=True)
        class Point:
            x: int
            colour: Colour
            many: ClassVar[int] = 0
            tags: list = dataclasses.field(default_factory=list)
        class Holder:
            point: Point
        @functools.lru_cache
        def cached(n):
            return [n]
        def main():
            global fields, hints
            fields = [field.name for field in dataclasses.fields(Point)]
            hints = typing.get_type_hints(Point), typing.get_type_hints(Holder)
            assert dataclasses.replace(Point(1, Colour.RED), x=2) == Point(2, Colour(1))
            assert cached(1) is cached(1)
        """
    )
    assert module.fields == ["x", "colour", "tags"]
    assert module.hints[0]["colour"] is module.Colour
    assert module.hints[1] == {"point": module.Point}


def test_objects_of_a_program_can_be_pickled(world):
    module = world.run(
        """
        import pickle
        class Job:
            def __init__(self, name): self.name = name
        def main():
            global back
            back = pickle.loads(pickle.dumps(Job("x")))
        """
    )
    assert type(module.back) is module.Job
    assert module.back.name == "x"


def test_epoll(world):
    module = world.run(
        """
        import select, socket, threading
        def main():
            global seen
            one, two = socket.socketpair()
            with select.epoll() as waiting:
                waiting.register(one, select.EPOLLIN)
                seen = [waiting.poll(1)]
                threading.Timer(1, two.send, (b"x",)).start()
                seen.append(waiting.poll() == [(one.fileno(), select.EPOLLIN)])
                waiting.modify(one, select.EPOLLIN | select.EPOLLOUT)
                seen.append(waiting.poll(0, 1)[0][1])
                for action, arguments in (
                    (waiting.register, (one,)), (waiting.unregister, (two,)),
                ):
                    try:
                        action(*arguments)
                    except OSError as error:
                        seen.append(type(error).__name__)
                waiting.modify(one, select.EPOLLIN | select.EPOLLONESHOT)
                seen += [len(waiting.poll(1)), len(waiting.poll(1))]
                one.close()
                seen.append(waiting.poll(1))
        """
    )
    assert module.seen == [[], True, 5, "FileExistsError", "FileNotFoundError", 1, 0, []]


def test_entry_points_load_the_process_s_own_modules(world, monkeypatch):
    place = world.directory / "site"
    (place / "plugged-1.0.dist-info").mkdir(parents=True)
    (place / "plugged-1.0.dist-info" / "METADATA").write_text("Name: plugged\nVersion: 1.0\n")
    (place / "plugged-1.0.dist-info" / "entry_points.txt").write_text("[plugs]\nx=plugged:Plug\n")
    (place / "plugged.py").write_text("import time\nclass Plug: pass\n")
    monkeypatch.syspath_prepend(str(place))
    module = world.run(
        """
        import importlib.metadata, plugged
        def main():
            global found
            (entry,) = importlib.metadata.entry_points(group="plugs")
            found = entry.load()
        """
    )
    assert module.found is module.plugged.Plug


def test_a_stream_socket_has_the_methods_of_datagrams_too(world):
    module = world.run(
        """
        import socket
        def main():
            global seen
            one, two = socket.socketpair()
            one.sendto(b"abcdefgh", ("x", 1))
            buffer, empty = bytearray(2), bytearray()
            seen = [two.recvfrom(2), two.recvmsg(2)]
            seen += [two.recvfrom_into(buffer), bytes(buffer)]
            seen += [two.recvmsg_into([empty, buffer]), bytes(buffer)]
        """
    )
    assert module.seen == [
        (b"ab", None), (b"cd", [], 0, None), (2, None), b"ef", (2, [], 0, None), b"gh",
    ]  # fmt: skip
