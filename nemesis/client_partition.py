"""The fault ``client-partition``: clients whose links to servers are cut, in one way or another."""

from functools import partial
from typing import Any, get_args

from rumpus.harness.links.links import Cut
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import LEAST_LEAD, Draft, Fault, LinkOptions, Turn
from rumpus.nemesis.fault_context import Finding, NeverActed
from rumpus.nemesis.targets import Targets

CUTS: tuple[Cut, ...] = get_args(Cut)

LEAD = 1.0
"""At most so many seconds before the holder is cut off, ``lost-reply`` is armed (random plans)."""


class CutOptions(LinkOptions, frozen=True, kw_only=True):
    """``how``: the way links are cut; see ``harness.links.links.Cut``."""

    how: Cut = "black-hole"


class ClientPartition(ClientFault):
    """Cut clients' links."""

    kind = "client-partition"
    summary = (
        "clients' connections to servers are black-holed, reset, half-open or one-way, or the "
        "reply to a change is lost"
    )
    works_on = "the clients' links"
    causes = "expiry"
    takes = CutOptions
    stays_frozen = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.how: Cut = self.options.how

    @classmethod
    def form(cls, entry: Entry) -> type[Fault[Any]]:
        """``LostReply`` for ``lost-reply``, else this class."""
        return LostReply if entry.options.get("how") == "lost-reply" else cls

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """The first fault cuts the holder off; ``lost-reply`` of all clients begins a bit earlier.

        While the holder is cut off no client creates anything until the holder's session has
        expired. In the time before that there are requests whose replies can be lost.

        Servers without sessions go by the connection alone, which a black hole leaves open on their
        side. So they are hung up on there, as the system does with a peer that is silent for long.
        """
        if turn.first:
            return Draft(
                Targets(role="holder"),
                {"how": "black-hole" if turn.sessions else "half-open"},
                lead=min(LEAD, max(LEAST_LEAD, turn.longest - turn.needed)),
                escort=(Targets(role="all"), {"how": "lost-reply"}),
            )
        how = turn.rng.choice(CUTS)
        return Draft(
            Targets(role="all" if how == "lost-reply" else cls.draw_role(turn)), {"how": how}
        )

    def eligible(self) -> list[int]:
        """Clients that are not dead and whose links are not cut, or only by ``lost-reply``."""
        context = self.context
        return [
            client
            for client in range(context.clients.count)
            if context.clients.state(client) != "dead"
            and set(context.links.in_force(client).values()) <= {"lost-reply"}
        ]

    def _nodes(self) -> tuple[str, ...]:
        return self.options.nodes or tuple(self.context.ensemble.nodes)

    def inject(self) -> None:
        """Cut the links, then resume the clients that ``choose`` froze in their role."""
        try:
            for client in self.chosen:
                if release := self.context.armed.pop(client, None):
                    release()
                self.context.links.cut(client, self.how, self._nodes())
        finally:
            self.resume_pinned()

    def in_force(self) -> Finding:
        """Wait until the links report the cut that was asked for."""
        wanted = dict.fromkeys(self._nodes(), self.how)
        return self.wait_until_all(self.context.links.in_force, wanted, self.how)

    def heal(self) -> None:
        """Mend the chosen clients' links."""
        for client in self.chosen:
            self.context.links.heal(client)

    def healed(self, timeout: float) -> Finding:
        """Wait until the links are whole and the clients are connected again."""
        look = self.context.links.in_force
        if not self.context.until(lambda: not self.still_wrong(look, {}), timeout):
            left = self.still_wrong(look, {})
            return Finding(False, f"links still cut after {timeout:g} s: {left}")
        return super().healed(timeout)

    def record(self) -> dict[str, Any]:
        """How the links are cut."""
        return {"how": self.how}


class LostReply(ClientPartition):
    """The reply to a client's next create or set is lost, though it took effect.

    The link acts when the client sends such a request. So the fault is in force once the links are
    armed, that is, wait for such a request. It counts as healed only if at least one reply was
    lost. Another fault may take over links that are armed.
    """

    gives_way = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._refused: dict[int, int] = {}
        self._struck: set[int] = set()

    def inject(self) -> None:
        """Arm the links."""
        self._refused = {client: self.context.links.swallowed(client) for client in self.chosen}
        super().inject()
        for client in self.chosen:
            self.context.armed[client] = partial(self._release, client)

    def _release(self, client: int) -> None:
        """Note whether a client's reply was lost, before another fault takes its links over."""
        if self.context.links.swallowed(client) > self._refused.pop(client):
            self._struck.add(client)

    def in_force(self) -> Finding:
        """Wait until the links are armed, or a reply was lost already."""
        links = self.context.links
        wanted = dict.fromkeys(self._nodes(), self.how)

        def armed(client: int) -> bool:
            return (
                links.in_force(client) == wanted or links.swallowed(client) > self._refused[client]
            )

        return self.wait_until_all(armed, wanted=True, detail="lost-reply armed")

    def heal(self) -> None:
        """Disarm the links, but for those taken over: the fault that did so mends them."""
        for client in list(self._refused):
            self._release(client)
            self.context.armed.pop(client, None)
            if self.context.links.in_force(client):
                self.context.links.heal(client)

    def healed(self, timeout: float) -> Finding:
        """Wait until no link is armed any more; at least one reply must have been lost."""
        links = self.context.links

        def disarmed() -> bool:
            return not any("lost-reply" in links.in_force(c).values() for c in self.chosen)

        if not self.context.until(disarmed, timeout):
            return Finding(False, f"links still armed after {timeout:g} s")
        back = ClientFault.healed(self, timeout)
        if back.ok and not self._struck:
            return NeverActed(
                False, "no reply was lost: none of these clients created or set anything"
            )
        lost = ", ".join(f"c{client}" for client in sorted(self._struck))
        return Finding(back.ok, f"replies lost: {lost or 'none'}; {back.detail}")

    def record(self) -> dict[str, Any]:
        """How, and whose replies were lost so far."""
        return {"how": self.how, "struck": [f"c{client}" for client in sorted(self._struck)]}
