"""The faults of `rumpus.testing.zookeeper.ZooKeeper` over HTTP and JSON, on the loopback only.

For tests of programs in any language: docs/how-to/testing-applications.md describes the protocol.
The address has a token in it, since every user of the machine can reach the port.
"""

import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from rumpus.checker.bounds import LONGEST_S
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.simulation.zookeeper.serving.session_ids import unsigned
from rumpus.testing.zookeeper import PATIENCE_S, ZooKeeper
from rumpus.usage_error import UsageError

if TYPE_CHECKING:
    from rumpus.testing.servers import DroppedReply

LOOPBACK = "127.0.0.1"
LONGEST_BODY = 64 * 1024
"""Bytes of a request's body."""
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,256}")
"""What a token may be: long enough not to be guessed, and plain within an address."""
STRANGER: Final = "the token is missing or wrong: use the whole address that was printed"
SILENCE_S = 10.0
"""Seconds after which a connection that sends nothing is closed."""

_LOCAL_NAMES = frozenset({LOOPBACK, "localhost"})


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    """A request without arguments."""


class _Node(_Body):
    node: str


class _Elect(_Node):
    timeout: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_S)] = PATIENCE_S


class _Nodes(_Body):
    nodes: list[str]


class _Session(_Body):
    session: str


class _Request(_Body):
    request: str = "create"
    number: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 1
    session: str | None = None


class _Number(_Body):
    id: int


class Control:
    """What the requests do. May be called from any thread.

    Args:
        zk: the servers.
    """

    def __init__(self, zk: ZooKeeper) -> None:
        self._zk = zk
        self._numbers = count(1)
        self._dropped: dict[int, tuple[_Request, DroppedReply]] = {}
        self.queries: Final[Mapping[str, Callable[[], Any]]] = {
            "/state": self._state,
            "/dump": self._dump,
        }
        self.actions: Final[Mapping[str, tuple[type[_Body], Callable[[Any], Any]]]] = {
            "/kill": (_Node, lambda body: zk.kill(body.node)),
            "/restart": (_Node, lambda body: zk.restart(body.node)),
            "/pause": (_Node, lambda body: zk.pause(body.node)),
            "/resume": (_Node, lambda body: zk.resume(body.node)),
            "/partition": (_Nodes, lambda body: zk.partition(*body.nodes)),
            "/heal": (_Body, lambda _: zk.heal()),
            "/elect": (_Elect, lambda body: zk.elect(body.node, timeout=body.timeout)),
            "/expire": (_Session, lambda body: zk.expire(_session(body.session))),
            "/cut": (_Session, lambda body: zk.cut(_session(body.session))),
            "/drop-reply": (_Request, self._drop_reply),
            "/withdraw": (_Number, self._withdraw),
        }

    def ask(self, path: str) -> Any:
        """The answer to a GET.

        Raises:
            UsageError: no such path.
        """
        if path not in self.queries:
            raise UsageError(f"GET {path} is unknown; there are {', '.join(self.queries)}")
        return self.queries[path]()

    def act(self, path: str, body: bytes) -> Any:
        """Do what a POST says; its answer.

        Raises:
            UsageError: no such path, a body that is not what it needs, or no such server or
                session.
            TimeoutError: it did not happen in time.
        """
        if path not in self.actions:
            raise UsageError(f"POST {path} is unknown; there are {', '.join(self.actions)}")
        kind, action = self.actions[path]
        try:
            arguments = msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"the body of POST {path}: {error}") from error
        return action(arguments) or {}

    def _state(self) -> dict[str, Any]:
        zk = self._zk
        return {
            "hosts": zk.hosts,
            "leader": zk.leader,
            "servers": {
                node: {
                    "address": zk.address(node),
                    "state": zk.state(node),
                    "serves": zk.serves(node),
                }
                for node in zk.nodes
            },
            "dropped_replies": [
                {
                    "id": number,
                    "request": asked.request,
                    "number": asked.number,
                    "session": asked.session,
                    "happened": dropped.happened,
                }
                for number, (asked, dropped) in sorted(self._dropped.items())
            ],
        }

    def _dump(self) -> dict[str, Any]:
        dump = self._zk.dump()
        return {
            "znodes": {
                path: {
                    "data": znode.data,  # becomes base64
                    "ephemeral_owner": _hexadecimal(znode.ephemeral_owner),
                }
                for path, znode in dump.znodes.items()
            },
            "sessions": {
                _hexadecimal(session): {
                    "timeout": each.timeout,
                    "node": each.node,
                    "ephemerals": list(each.ephemerals),
                }
                for session, each in dump.sessions.items()
            },
        }

    def _drop_reply(self, body: _Request) -> dict[str, int]:
        session = None if body.session is None else _session(body.session)
        dropped = self._zk.drop_reply(body.request, body.number, client=session)
        number = next(self._numbers)
        self._dropped[number] = body, dropped
        return {"id": number}

    def _withdraw(self, body: _Number) -> None:
        if body.id not in self._dropped:
            raise UsageError(f"no reply to be dropped has the id {body.id}")
        self._dropped.pop(body.id)[1].withdraw()


class _NoToken(Exception):  # noqa: N818 - says what is missing
    """A request that does not know the token."""


class _Handler(BaseHTTPRequestHandler):
    timeout = SILENCE_S
    server: "_Server"

    def handle(self) -> None:
        """Answer. A client that goes without its answer has no error that anybody could mend."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        self._answer(lambda: self.server.control.ask(self._path()))

    def do_POST(self) -> None:
        self._answer(lambda: self.server.control.act(self._path(), self._body()))

    def log_message(self, *_: Any) -> None:
        """Nothing is logged: standard error is for the program that serves."""

    def _body(self) -> bytes:
        text = self.headers.get("Content-Length", "0")
        # A number of thousands of digits is not read as one.
        digits = len(str(LONGEST_BODY))
        if not text.isdecimal() or len(text) > digits or int(text) > LONGEST_BODY:
            raise UsageError(f"Content-Length: {text[:20]} is not from 0 to {LONGEST_BODY}")
        return self.rfile.read(int(text))

    def _path(self) -> str:
        """What is asked for, without the token.

        Raises:
            _NoToken: it is not there.
        """
        _, token, *rest = self.path.split("/", 2) if self.path.startswith("/") else ("", "")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _NoToken
        return f"/{''.join(rest)}"

    def _refuse_web_pages(self) -> None:
        """A page in a browser of this machine can send requests here, under its own name."""
        host = self.headers.get("Host", LOOPBACK).partition(":")[0]
        if host not in _LOCAL_NAMES or self.headers.get("Origin") is not None:
            raise UsageError(f"requests for {host} from a web page are refused; use {LOOPBACK}")

    def _answer(self, act: Callable[[], Any]) -> None:
        try:
            self._refuse_web_pages()
            status, document = HTTPStatus.OK, act()
        except _NoToken:
            status, document = HTTPStatus.FORBIDDEN, {"error": STRANGER}
        except UsageError as error:
            status, document = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except (TimeoutError, EnvironmentRefusal) as error:
            status, document = HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        content = msgspec.json.encode(document) + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    def __init__(self, port: int, control: Control, token: str) -> None:
        self.control, self.token = control, token
        super().__init__((LOOPBACK, port), _Handler)


@contextmanager
def control_server(zk: ZooKeeper, port: int = 0, token: str = "") -> Iterator[str]:
    """Serve the faults of servers while the ``with`` block runs.

    Args:
        zk: the servers.
        port: on 127.0.0.1; 0: any free one.
        token: what requests have to know; empty: a new one.

    Yields:
        the address, ``http://127.0.0.1:PORT/TOKEN``.

    Raises:
        UsageError: it cannot be a token.
        EnvironmentRefusal: the port cannot be opened.
    """
    token = token or secrets.token_urlsafe(16)
    if not TOKEN.fullmatch(token):
        raise UsageError(
            "the control port's token must have 16 to 256 letters, digits, '_' and '-'"
        )
    try:
        server = _Server(port, Control(zk), token)
    except OSError as error:
        raise EnvironmentRefusal(
            f"port {port} cannot be had: {error.strerror}; end what uses it, or choose another "
            "with --control PORT (0: any free one)"
        ) from error
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="control", daemon=True
    )
    with server:
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}/{token}"
        finally:
            server.shutdown()
            thread.join()


def _session(text: str) -> int:
    try:
        number = int(text, 16)
    except ValueError:
        number = -1
    if not 0 < number < 1 << 64:
        raise UsageError(f"session: {text!r} is not 0x and up to 16 hexadecimal digits")
    return number - (1 << 64) if number >> 63 else number


def _hexadecimal(session: int | None) -> str | None:
    return None if session is None else f"0x{unsigned(session):x}"
