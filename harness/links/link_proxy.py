"""The proxy that carries the clients' connections to the servers, and can break them.

A single-threaded event loop: one listener for each (client, server), on a port that the kernel
chooses. ``link_process`` runs the loop, in a process of its own. The proxy's methods may be called
between two turns of the loop.
"""

import selectors
import socket
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic_ns

from rumpus.harness.links.filtered_connection import ArmedRequest, Frames, FrameTrigger
from rumpus.harness.links.link_connection import ABORT, Connection, Link, Traffic
from rumpus.harness.links.links import Cut, Refusal, WatchLeft, WatchSeen, WirePassed
from rumpus.harness.links.tally import Tally
from rumpus.harness.links.triggers import FrameSeen, RequestAction, RequestTrigger
from rumpus.harness.links.wire_tap import WireLog
from rumpus.harness.links.zookeeper_frames import requests_by_name

LISTEN_ON = "127.0.0.1"


class Listener:
    """Accepts one client's connections to one server."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.socket = socket.create_server((LISTEN_ON, 0), backlog=128)
        self.socket.setblocking(False)

    def ready(self, _events: int) -> None:
        """Called by the loop when a connection waits to be accepted."""
        try:
            accepted, _ = self.socket.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the client did not wait
        if self.link.cut == "reset":
            self.link.tally.swallowed += 1
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            accepted.close()
        else:
            Connection(self.link, accepted)


class Callback:
    """A function that the loop calls when a file can be read that is no link's."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def ready(self, _events: int) -> None:
        """Called by the loop when the file can be read."""
        self._call()


class ToldRequest(ArmedRequest):
    """A trigger at a request of which somebody is told when it acts.

    Args:
        trigger: what is done about which request.
        tell: called with the time, in monotonic nanoseconds.
    """

    __slots__ = ("_tell",)

    def __init__(self, trigger: RequestTrigger, tell: Callable[[int], object]) -> None:
        super().__init__(trigger)
        self._tell = tell

    def act(self, now: int) -> None:
        """Act, and tell it."""
        super().act(now)
        self._tell(now)


_LOST_REPLY = RequestTrigger("drop-reply", request="change")


class LinkProxy:
    """All links of a run, carried by whoever calls ``turn``. Not thread-safe.

    Methods do what they do in ``harness.links.links.Links``; nodes must be given and exist.

    Args:
        servers: node -> host and port on which it is reached; ``node:service`` for a further
            port of a node. A node's cuts and delays are those of all its ports.
        clients: how many clients, numbered from 0.
        sessions: whether the bytes are frames of ZooKeeper's protocol.
        wire: takes a record of every request that passes.
        tell: called when a trigger acts, with its number and the time in monotonic nanoseconds.

    Raises:
        OSError: a server's host has no address, or a listener cannot be opened.
    """

    def __init__(
        self,
        servers: Mapping[str, tuple[str, int]],
        clients: int,
        *,
        sessions: bool = True,
        wire: WireLog | None = None,
        tell: Callable[[int, int], object] = lambda *_: None,
    ) -> None:
        self._tell = tell
        self._armed: dict[int, ArmedRequest | FrameTrigger] = {}
        self._traffic = Traffic()
        self._wire = wire or WireLog(0)
        self._tallies = [Tally(client, self._wire) for client in range(clients)]
        self._links: list[dict[str, Link]] = []
        self._frames = [Frames() for _ in range(clients)]
        self._log: list[FrameSeen] = []
        self._listeners: list[list[Listener]] = []
        self._blacklist: set[int] = set()
        resolved = {node: _resolve(address) for node, address in servers.items()}
        try:
            for tally, frames in zip(self._tallies, self._frames, strict=True):
                links = {
                    port: Link(
                        port.partition(":")[0],
                        address,
                        tally,
                        self._traffic,
                        frames,
                        framed=sessions,
                    )
                    for port, address in resolved.items()
                }
                self._links.append(links)
                self._listeners.append([])
                for link in links.values():
                    self._listeners[-1].append(Listener(link))
        except OSError:
            self.close()
            raise
        for row in self._listeners:
            for listener in row:
                self._traffic.selector.register(listener.socket, selectors.EVENT_READ, listener)

    def ports(self) -> list[list[int]]:
        """The port of each link: a row for each client, in the order of the servers."""
        return [[ln.socket.getsockname()[1] for ln in row] for row in self._listeners]

    def watch(self, file: int | socket.socket, call: Callable[[], None]) -> None:
        """Call a function in each turn in which a file can be read."""
        self._traffic.selector.register(file, selectors.EVENT_READ, Callback(call))

    def turn(self) -> None:
        """Wait for events on sockets, or until delayed bytes are due, and handle them."""
        delayed, timers = self._traffic.delayed, self._traffic.timers
        timeout = None
        if delayed or timers:
            due = [*(end.due() for end in delayed), *(each[0] for each in timers[:1])]
            timeout = max(0, min(due) - monotonic_ns()) / 1e9
        for key, events in self._traffic.selector.select(timeout):
            key.data.ready(events)
        self._traffic.call_due()
        if delayed:
            now = monotonic_ns()
            for end in [end for end in delayed if end.due() <= now]:
                if end in delayed:  # an earlier one may have closed it
                    end.connection.flush(end)

    def cut(self, client: int, how: Cut, nodes: Iterable[str]) -> None:
        """Break a client's links to these nodes; links already cut this way are left alone."""
        self._cut(client, how, nodes, ArmedRequest(_LOST_REPLY) if how == "lost-reply" else None)

    def drop_reply(
        self, client: int, request: str, number: int, session: int | None, nodes: Iterable[str]
    ) -> None:
        """Cut by ``lost-reply``, about the n-th request of a kind from now on.

        Replaces an earlier cut.

        Args:
            client: its number.
            request: a name of ``zookeeper_frames.REQUESTS``.
            number: counted over all links to these nodes; 1: the next.
            session: only requests of this session count; None: all of the client's.
            nodes: the servers.
        """
        chosen = list(nodes)
        for link in self._chosen(client, chosen):
            self._mend(link)
        lost = ArmedRequest(RequestTrigger("drop-reply", request, number), session)
        self._cut(client, "lost-reply", chosen, lost)

    def arm(
        self,
        number: int,
        client: int,
        action: RequestAction,
        request: str,
        nth: int,
        milliseconds: float,
        nodes: Iterable[str],
    ) -> None:
        """Arm a trigger, by which number it is known, for a client's n-th request of a kind."""
        trigger = RequestTrigger(action, request, nth, milliseconds)
        armed = self._armed[number] = ToldRequest(trigger, partial(self._tell, number))
        for link in self._chosen(client, nodes):
            armed.arm(link)

    def arm_frame(self, number: int, client: int, nth: int, passes: bool, resets: bool) -> None:
        """Arm a trigger for a client's n-th frame; the connection waits then for ``done``."""

        def tell() -> None:
            assert trigger.acted is not None
            self._tell(number, trigger.acted)

        frames = self._frames[client]
        trigger = FrameTrigger(nth, tell, passes=passes, resets=resets, frames=frames)
        self._armed[number] = trigger

    def done(self, number: int, client: int) -> None:
        """What was to be done at a frame of a client has been done."""
        trigger = self._armed[number]
        assert isinstance(trigger, FrameTrigger)
        for link in self._links[client].values():
            for connection in list(link.connections):
                connection.done(trigger)

    def withdraw(self, number: int) -> int | None:
        """Disarm a trigger; when it acted, in monotonic nanoseconds, or None."""
        trigger = self._armed[number]
        trigger.withdraw()
        return trigger.acted

    def frames(self, start: int, most: int) -> list[FrameSeen]:
        """Frames that have come since this was first called, from a number on."""
        for frames in self._frames:
            frames.log = self._log
        return self._log[start : start + most]

    def reset_session(self, client: int, session: int) -> bool:
        """Reset the client's connections that have a session; whether there was any."""
        found = [
            connection
            for link in self._links[client].values()
            for connection in link.connections
            if connection.open and connection.tally.session == session
        ]
        for connection in found:
            connection.abort()
        return bool(found)

    def refuse_session(self, session: int, how: Refusal) -> None:
        """Refuse a session's traffic on all links, from now on if ``how`` says so."""
        if session in self._blacklist:
            return
        self._blacklist.add(session)
        for link in (link for links in self._links for link in links.values()):
            having = [each for each in link.connections if each.tally.has(session)]
            if how == "lasting" or (how == "one-server" and having):
                link.refused.add(session)
            for connection in having:
                connection.abort()

    def delay(self, client: int, milliseconds: float, nodes: Iterable[str]) -> None:
        """Delay every byte on a client's links to these nodes."""
        for link in self._chosen(client, nodes):
            self._set_delay(link, round(milliseconds * 1e6))

    def delays(self, client: int) -> dict[str, float]:
        """By how many milliseconds a client's links are slow."""
        links = self._links[client].values()
        return {link.node: link.delay / 1e6 for link in links if link.delay}

    def heal(self, client: int | None) -> None:
        """Mend one client's links, or all."""
        for number in range(len(self._links)) if client is None else [client]:
            for trigger in list(self._frames[number].triggers):
                trigger.withdraw()
            for link in self._links[number].values():
                for armed in list(link.armed_triggers):
                    armed.withdraw()
                self._mend(link)
                self._set_delay(link, 0)

    def in_force(self, client: int) -> dict[str, str]:
        """The cuts on a client's links."""
        links = self._links[client].values()
        return {link.node: link.cut for link in links if link.cut is not None}

    def swallowed(self, client: int) -> int:
        """How many bytes and connections of a client the links have refused so far."""
        return self._tallies[client].swallowed

    def connected_to(self, client: int) -> str | None:
        """The server with which the client has a session on an open connection."""
        granted = [
            (connection.tally.granted, link.node)
            for link in self._links[client].values()
            for connection in link.connections
            if connection.tally.granted and connection.open
        ]
        return max(granted)[1] if granted else None

    def last_answer(self, client: int) -> int | None:
        """When a reply last passed to the client, in monotonic nanoseconds."""
        return self._tallies[client].last_answer

    def requests(self, client: int) -> dict[str, int]:
        """How many of a client's requests the links have carried so far, by kind."""
        return requests_by_name(self._tallies[client].requests)

    def shown(self, client: int) -> int:
        """The highest zxid in the header of a reply that has passed to the client; 0: none yet."""
        return self._tallies[client].shown

    def recorded(self, client: int) -> WirePassed:
        """How much of a client is in the wire's record so far."""
        return self._wire.passed(client, monotonic_ns())

    def unimplemented(self, client: int) -> bool:
        """Whether a reply has passed to the client that refuses a request as unknown (-6)."""
        return self._tallies[client].unimplemented

    def watches(self, size: int) -> list[WatchSeen | WatchLeft]:
        """Take the oldest watch records not yet taken: at least one if there is any.

        Args:
            size: stop once their paths have so many bytes.
        """
        events = self._traffic.watch_events
        taken: list[WatchSeen | WatchLeft] = []
        while events and size > 0:
            taken.append(events.popleft())
            size -= len(taken[-1].path)
        return taken

    def close(self) -> None:
        """Reset every connection and free the ports."""
        for links in self._links:
            for link in links.values():
                for connection in list(link.connections):
                    connection.abort()
        for row in self._listeners:
            for listener in row:
                listener.socket.close()
        self._traffic.selector.close()
        self._wire.finish()

    def _chosen(self, client: int, nodes: Iterable[str]) -> list[Link]:
        chosen = set(nodes)
        return [link for link in self._links[client].values() if link.node in chosen]

    def _cut(
        self, client: int, how: Cut, nodes: Iterable[str], lost_reply: ArmedRequest | None
    ) -> None:
        for link in self._chosen(client, nodes):
            if link.cut == how:
                continue
            self._mend(link)
            link.cut = how
            if lost_reply is not None:
                link.lost_reply = lost_reply
                lost_reply.arm(link)
            for connection in list(link.connections):
                connection.apply_cut()

    @staticmethod
    def _mend(link: Link) -> None:
        link.mend()
        for connection in list(link.connections):
            if connection.spoilt:
                connection.abort()
            else:
                connection.release()
                connection.apply_cut()

    @staticmethod
    def _set_delay(link: Link, nanoseconds: int) -> None:
        if link.delay == nanoseconds:
            return
        link.delay = nanoseconds
        for connection in list(link.connections):
            for end in (connection.client, connection.server):
                if end.queue and not end.connecting and not connection.closed:
                    connection.flush(end)


def _resolve(address: tuple[str, int]) -> tuple[socket.AddressFamily, object]:
    host, port = address
    family, _, _, _, resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, resolved
