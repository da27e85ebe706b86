"""A server's status, from the four-letter word ``srvr`` on the client port."""

import re
import socket
import time
from typing import Literal, NamedTuple

Mode = Literal["leader", "follower", "observer", "standalone", "read-only"]

_MODE = re.compile(r"^Mode: (leader|follower|observer|standalone|read-only)$", re.MULTILINE)
_VERSION = re.compile(r"^Zookeeper version: (\d+(?:\.\d+)+)", re.MULTILINE)
_ZXID = re.compile(r"^Zxid: 0x([0-9a-f]+)$", re.MULTILINE)


class Srvr(NamedTuple):
    """An answer: the server's mode, and the last zxid it has applied."""

    mode: Mode
    zxid: int

    @property
    def epoch(self) -> int:
        """The upper half of the zxid: the epoch of the leader that assigned it."""
        return self.zxid >> 32


def parse(answer: str) -> Srvr | None:
    """An answer's mode and zxid; None when the server is not serving (or it is no answer)."""
    mode, zxid = _MODE.search(answer), _ZXID.search(answer)
    if mode is None or zxid is None:
        return None
    return Srvr(mode[1], int(zxid[1], 16))  # type: ignore[arg-type]  # the pattern allows modes only


def version_of(answer: str) -> str | None:
    """The version that an answer names, such as ``3.8.0``; None if it is no answer."""
    found = _VERSION.search(answer)
    return None if found is None else found[1]


def ask(address: tuple[str, int], *, timeout: float = 1.0) -> Srvr | None:
    """Ask the server at an address, for at most ``timeout`` seconds in all.

    None when it does not answer in time, or answers that it is not serving.
    """
    answer = answer_to("srvr", address, timeout=timeout)
    return None if answer is None else parse(answer)


def answer_to(word: str, address: tuple[str, int], *, timeout: float = 1.0) -> str | None:
    """The whole answer to a four-letter word; None if it does not come within seconds."""
    deadline = time.monotonic() + timeout
    answer = b""
    try:
        with socket.create_connection(address, timeout) as connection:
            connection.sendall(word.encode())
            while (left := deadline - time.monotonic()) > 0:
                connection.settimeout(left)
                part = connection.recv(4096)
                if not part:
                    return answer.decode(errors="replace")
                answer += part
    except OSError:
        # The server is dead, paused or cut off: None stands for that.
        return None
    return None
