"""In which session a program is granted something, where it makes kazoo clients of its own.

A recipe is given a client, and many programs make their own: in a constructor, for each call, for
each thread. What they hold then ends with that session, and that client tells them so. So each
client of a process is known here by when it was last asked; no request is changed.
"""

import functools
from itertools import count
from typing import Any, Final
from weakref import WeakKeyDictionary

from kazoo.client import KazooClient

_CREATES: Final = ("Create", "Create2")
_EPHEMERAL: Final = 1


class Askers:
    """The kazoo clients of this process, by the order of their requests."""

    def __init__(self) -> None:
        self._moments = count(1)
        self._asked: WeakKeyDictionary[KazooClient, int] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[KazooClient, int] = WeakKeyDictionary()
        self.now = 0
        """Grows with each request."""

    def note(self, client: KazooClient, request: Any) -> None:
        """Take a request of a client."""
        self.now = self._asked[client] = next(self._moments)
        parts = getattr(request, "operations", None) or [request]
        if any(map(_makes_ephemeral, parts)):
            self._made[client] = self.now

    def answering(self, given: KazooClient, since: int) -> KazooClient:
        """The client in whose session a call of the program has just been answered.

        It is the one that made an ephemeral znode last, of those asked since the call began; else
        the one that was asked last. A client of the program's own counts before the given one,
        which the harness uses as well.

        Args:
            given: the client that the program was given.
            since: ``now`` when the call began.
        """
        for moments in (self._made, self._asked):
            latest = {client: at for client, at in list(moments.items()) if at > since}
            if own := {client: at for client, at in latest.items() if client is not given}:
                return max(own, key=own.__getitem__)
            if moments is self._made and given in latest:
                return given
        return given


class NoSession:
    """Stands for the session of a grant where there are none: it never ends by itself."""

    begun_in: int | None = None
    lost: bool = False

    def close(self) -> None:
        """There is nothing to listen to."""


def _makes_ephemeral(request: Any) -> bool:
    if type(request).__name__ not in _CREATES:
        return False
    return bool(int(getattr(request, "flags", 0)) & _EPHEMERAL)


@functools.cache
def askers() -> Askers:
    """Those of this process, from the first call on."""
    found = Askers()
    ask = KazooClient._call  # noqa: SLF001 - all requests go through it

    @functools.wraps(ask)
    def noted(client: KazooClient, request: Any, async_object: Any) -> Any:
        found.note(client, request)
        return ask(client, request, async_object)

    KazooClient._call = noted  # noqa: SLF001
    return found
