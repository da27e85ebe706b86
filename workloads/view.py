"""Watched views: clients follow the children of a znode while all of them change these.

A view is a local copy that watches keep up to date. ``look`` tells which change of each node a view
shows, by zxid; ``converge`` waits until the view is what a fresh read of the servers returns, and
tells both. The znode with the children is called the folder.
"""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, TypedDict

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from rumpus.checker.families.convergence import check_convergence, check_view_order, count_expiries
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.clients.leftovers import look_until
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.curator.catalogue import CURATOR_VIEWS
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session
from rumpus.recipes.view.catalogue import VIEWS
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.own_interfaces import OwnView

NAMES = ("n0", "n1", "n2", "n3")
"""The nodes in the folder."""

PATIENCE_S = 3.0
"""How long a request may take."""

LASTS = 1500
"""For how many looks and changes a client keeps a view, on average."""

ROUNDS, BURST = 5, 6
"""How many rounds the final phase has, and how many changes each client makes in each before all
views must converge."""


class Looked(TypedDict):
    """The number of the client's view, and name -> zxid, null where the view has none."""

    view: int
    nodes: dict[str, int | None] | None


class Converged(TypedDict):
    """Name -> data in the view and on the servers, null where the view has names only."""

    seen: Any
    there: Any


@dataclass
class Follower:
    """A client with a view of the folder, or a view of each node if the recipe follows data."""

    recipe: Any
    kazoo: KazooClient
    views: dict[str, Any] = field(default_factory=dict)
    closed: list[Any] = field(default_factory=list)
    number: int = 0

    def ask(self, request: str, *values: Any) -> Any:
        """The answer to a request that is sent in the present session."""
        method = getattr(self.kazoo, f"{request}_async")
        with closing(Session(self.kazoo)) as session:
            return session.ask(Deadline(PATIENCE_S), method, *values)

    def shown(self) -> dict[str, Any]:
        """Name -> what the view shows of a node, null where it has names only; "": the folder.

        Raises what a view complains of, closed ones too, if it does.
        """
        for view in [*self.views.values(), *self.closed]:
            if hasattr(view, "complain"):
                view.complain()
        values = {name: view.value for name, view in self.views.items()}
        shown = {name: value for name, value in values.items() if value is not None}
        if self.recipe.follows == "data" or not shown:
            return shown
        if self.recipe.follows == "children":
            return shown | dict.fromkeys(shown[""].names)
        return dict(shown[""])

    def there(self, path: str) -> dict[str, str | None]:
        """Name -> data of the nodes on the servers, null where the view has names only."""
        with suppress(NoNodeError):  # after this write no earlier one is pending
            self.ask("delete", f"{path}/none")
        names = self.ask("get_children", path)
        if self.recipe.follows == "children":
            return dict.fromkeys(names)
        return {name: self.ask("get", f"{path}/{name}")[0].decode() for name in names}


class ViewWorkload(Workload):
    """Clients follow what stands in a folder while all of them change it.

    They follow from the beginning of the load, so that every fault strikes somebody's view.
    """

    name = "view"
    catalogue = VIEWS
    elsewhere = CURATOR_VIEWS
    adapter = OwnView
    model = "watch"
    main = "follow"
    requests = ("write", "delete", "create")

    def open(self, recipe: Any, context: ClientContext) -> Follower:
        """A follower without a view."""
        return Follower(recipe, context.kazoo)

    @operation(changes=False)
    def follow(self, client: Follower) -> None:
        """Begin a view, if there is none; the folder is made first (ChildrenWatch wants that)."""
        client.ask("ensure_path", self.path)
        if not client.views:
            client.number += 1
            for name in NAMES if client.recipe.follows == "data" else ("",):
                path = f"{self.path}/{name}".rstrip("/")
                client.views[name] = client.recipe(client.kazoo, path)
                client.views[name].open()

    @operation()
    def unfollow(self, client: Follower) -> None:
        """Close the view."""
        while client.views:
            client.closed.append(client.views.popitem()[1])
            client.closed[-1].close()

    @operation(changes=False)
    def look(self, client: Follower) -> Looked:
        """Tell which changes the view shows."""
        nodes = {name: data and data.zxid for name, data in client.shown().items()}
        return {"view": client.number, "nodes": nodes}

    @operation(
        goes_on=True,
        refusals={NodeExistsError: "made by somebody else", NoNodeError: "gone"},
    )
    def write(self, client: Follower, name: str, data: str) -> None:
        """Write a node, or create it if it is not there."""
        path, value = f"{self.path}/{name}", data.encode()
        try:
            client.ask("set", path, value)
        except NoNodeError:
            client.ask("create", path, value)

    @operation(goes_on=True, refusals={NoNodeError: "not there"})
    def remove(self, client: Follower, name: str) -> None:
        """Remove a node."""
        client.ask("delete", f"{self.path}/{name}")

    @operation(changes=False)
    def converge(self, client: Follower, patience: float) -> Converged:
        """Wait until view and servers agree; if they never do, tell what both were last."""

        def look() -> Converged:
            there, shown = client.there(self.path), client.shown()
            seen = {name: data and data.data.decode() for name, data in shown.items() if name}
            return {"seen": seen, "there": there}

        return look_until(lambda both: both["seen"] == both["there"], look, patience)

    def load(self, client: Client) -> Steps:
        """Follow, then look and change at random; now and then begin another view."""
        while not client.is_over:
            if (yield self.follow()).type != "ok":
                continue
            while not client.draws.one_in(getattr(client.context.recipe, "lasts", LASTS)):
                if client.is_over:
                    return
                yield self.look() if client.draws.one_in(2) else self._change(client)
                yield client.rest(0.002, 0.032)
            yield self.unfollow()

    def _change(self, client: Client) -> Invocation:
        """A change: three writes to one removal; every value is written once only."""
        name = client.draws.choose(NAMES)
        if client.draws.one_in(4):
            return self.remove(name=name)
        return self.write(name=name, data=f"{client.process}-{client.draws.below(10**9)}")

    def final(self) -> list[ScriptFunction]:
        """Bursts of changes; after each every view must become what the servers hold."""
        converge = until_ok(lambda client: self.converge(patience=client.expiry_s), 3)
        return [until_ok(self.follow(), 10), *ROUNDS * [self._burst, converge]]

    def _burst(self, client: Client) -> Steps:
        for _ in range(BURST):
            yield self._change(client)

    checks = (check_view_order, check_convergence)
    expired = "sessions of followers that expired"

    def expiries(self, timeline: Timeline, _: Sequence[CheckResult]) -> int:
        """How many of the clients' own sessions expired: the harness's sessions follow nothing."""
        return count_expiries(timeline)


VIEW = ViewWorkload()
