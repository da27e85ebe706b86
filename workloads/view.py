"""Watched views: clients follow what stands in a folder while all of them change it.

Operations: ``follow`` -> {session, view}: begin a view; ``look`` {pause} -> {view, nodes}: what it
shows; ``write`` {name, data, pause} and ``remove`` {name, pause} change the folder; ``unfollow``
ends the view; ``converge`` {patience} -> {seen, there}: wait until the view shows what a fresh
read shows. Watching is from the start of the load, so that every fault strikes somebody's view.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from kazoo.exceptions import (
    ConnectionClosedError,
    KazooException,
    NodeExistsError,
    NoNodeError,
    ZookeeperError,
)

from rumpus.checker.families.convergence import check_convergence, check_view_order, count_expiries
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Requirement, Verdict
from rumpus.harness.clients.client_body import ClientContext, Outcome
from rumpus.harness.generators.combinators import (
    each_process,
    each_thread,
    limit,
    phases,
    repeat,
    until_ok,
)
from rumpus.harness.generators.generator import PENDING, Answer, Context, Generator, Invocation
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered
from rumpus.recipes.view.catalogue import VIEWS
from rumpus.workloads.framework.judgement import Evidence, judge_exercised
from rumpus.workloads.framework.workload import Workload

WORDS: Final = Words(acquire="follow", work="look", release="unfollow", thing="view")

NAMES: Final = ("n0", "n1", "n2", "n3")
"""The nodes in the folder."""

LEAST_NEWS: Final = 20
"""How many looks must have shown something new for a run to mean anything."""

WRITE_PATIENCE_S: Final = 3.0

ROUNDS: Final = 5
"""How often, in the final phase, everybody writes and then every view must converge."""

BURST: Final = 6
"""Changes of each client in one round."""


class FollowAndChange(msgspec.Struct, frozen=True):
    """One process's load: follow, then look and change until the time is up."""

    seed: Seed
    until: int
    names: Sequence[str] = NAMES
    stage: str = "follow"

    def op(self, ctx: Context) -> Answer:
        """The next step, when the process is free."""
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        if ctx.time >= self.until:
            return None
        if self.stage != "change":
            return Invocation(self.stage, None, process, ctx.time), self
        dice, seed = self.seed.below(20)
        share, seed = seed.uniform()
        pause = round(0.002 + 0.03 * share, 4)
        if dice < 10:
            return Invocation("look", {"pause": pause}, process, ctx.time), self
        return Invocation(*change(seed, process, self.names, pause), process, ctx.time), self

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        """After each step the next one is drawn."""
        if event.type == "invoke":
            return self
        dice, seed = self.seed.next()[1].below(1500)
        stage = self.stage
        if event.f == "follow":
            stage = "change" if event.type == "ok" else "follow"
        elif event.f == "unfollow":
            stage = "follow"
        elif dice == 0:
            stage = "unfollow"
        return FollowAndChange(seed, self.until, self.names, stage)


def change(
    seed: Seed, writer: Any, names: Sequence[str], pause: float
) -> tuple[str, dict[str, Any]]:
    """A write or a removal, drawn; what is written is written once."""
    which, seed = seed.below(len(names))
    dice, seed = seed.below(4)
    name = names[which]
    if dice == 0:
        return "remove", {"name": name, "pause": pause}
    serial, _ = seed.below(1_000_000_000)
    return "write", {"name": name, "data": f"{writer}-{serial}", "pause": pause}


def load(setting: WorkloadContext) -> Generator:
    """Everybody follows, looks and changes until the time is up."""
    return each_process(lambda process: FollowAndChange(setting.seed.child(process), setting.until))


def final(setting: WorkloadContext) -> Generator:
    """Bursts of changes; after each every view must become what the servers hold."""
    patience = round(setting.session_timeout + 3.0, 3)
    converge = Invocation("converge", {"patience": patience})

    def burst(number: int) -> Generator:
        seed = setting.seed.child(f"burst {number}")
        return limit(BURST * setting.clients, _Changes(seed, NAMES))

    rounds = [
        step
        for number in range(ROUNDS)
        for step in (burst(number), each_thread(until_ok(limit(3, repeat(converge)))))
    ]
    follow = until_ok(limit(10, repeat(Invocation("follow"))))
    return phases(each_thread(follow), *rounds)


class _Changes(msgspec.Struct, frozen=True):
    """Changes without end, by whoever is free."""

    seed: Seed
    names: Sequence[str]

    def op(self, ctx: Context) -> Answer:
        process = ctx.next_free()
        if process is None:
            return PENDING, self
        _, seed = self.seed.next()
        what = Invocation(*change(self.seed, process, self.names, 0.0), process, ctx.time)
        return what, _Changes(seed, self.names)

    def update(self, ctx: Context, event: Op) -> Generator:  # noqa: ARG002 - the protocol's
        return self


class ViewClient:
    """The client's side."""

    grants = WORDS.acquire
    ends = WORDS.release

    def __init__(self, context: ClientContext, recipe: Any, path: str) -> None:
        self._context = context
        self._kazoo = context.kazoo
        self._recipe = recipe
        self._path = path
        self._views: dict[str, Any] = {}
        self._opened = 0

    def believes(self) -> bool:
        """Whether it follows."""
        return bool(self._views)

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        if value and "pause" in value:
            time.sleep(value["pause"])
        try:
            match f:
                case "follow":
                    return self._follow()
                case "unfollow":
                    self._close()
                    return Outcome("ok")
                case "look":
                    return Outcome("ok", {"view": self._opened, "nodes": self._zxids()})
                case "write":
                    return self._change(value, lambda s, d: self._write(s, d, value))
                case "remove":
                    return self._change(value, lambda s, d: self._remove(s, d, value))
                case "converge":
                    return self._converge(value["patience"])
        except ConnectionClosedError as error:
            return Outcome("info", value, str(error))
        raise ValueError(f"a client of this workload knows no operation {f!r}")

    def _follow(self) -> Outcome:
        """Begin a view, if there is none; the folder is made first (ChildrenWatch wants that)."""
        session = Session(self._kazoo)
        try:
            deadline = Deadline(WRITE_PATIENCE_S)
            session.ask(deadline, self._kazoo.ensure_path_async, self._path)
        except (Unanswered, KazooException) as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")
        finally:
            session.close()
        if not self._views:
            self._opened += 1
            if self._recipe.follows == "data":
                self._views = {
                    name: self._recipe(self._kazoo, f"{self._path}/{name}") for name in NAMES
                }
            else:
                self._views = {"": self._recipe(self._kazoo, self._path)}
            for view in self._views.values():
                view.open()
        return Outcome("ok", {"session": self._context.session(), "view": self._opened})

    def _close(self) -> None:
        views, self._views = self._views, {}
        for view in views.values():
            view.close()

    def _zxids(self) -> dict[str, int | None]:
        """Name -> zxid of the change that is shown."""
        follows = self._recipe.follows
        if follows == "data":
            seen = {name: view.value for name, view in self._views.items()}
            return {name: value.zxid for name, value in seen.items() if value is not None}
        value = self._views[""].value if self._views else None
        if follows == "children":
            if value is None:
                return {}
            folder = {"": value.zxid} if value.zxid else {}
            return {**dict.fromkeys(sorted(value.names)), **folder}
        return {name: data.zxid for name, data in sorted((value or {}).items())}

    def _shown(self) -> dict[str, str | None]:
        """Name -> data, null where the view shows names only."""
        follows = self._recipe.follows
        if follows == "data":
            seen = {name: view.value for name, view in self._views.items()}
            return {n: value.data.decode() for n, value in seen.items() if value is not None}
        value = self._views[""].value
        if follows == "children":
            return dict.fromkeys(sorted(value.names) if value else ())
        return {name: data.data.decode() for name, data in sorted((value or {}).items())}

    def _change(self, value: Any, make: Callable[[Session, Deadline], Outcome]) -> Outcome:
        session = Session(self._kazoo)
        try:
            return make(session, Deadline(WRITE_PATIENCE_S))
        except (Unanswered, ZookeeperError) as error:
            return Outcome("info", value, f"{type(error).__name__}: {error}")
        finally:
            session.close()

    def _write(self, session: Session, deadline: Deadline, value: Any) -> Outcome:
        node, data = f"{self._path}/{value['name']}", value["data"].encode()
        try:
            session.ask(deadline, self._kazoo.set_async, node, data)
        except NoNodeError:
            try:
                session.ask(deadline, self._kazoo.create_async, node, data)
            except NodeExistsError:
                return Outcome("fail", error="made by somebody else meanwhile")
        return Outcome("ok", value)

    def _remove(self, session: Session, deadline: Deadline, value: Any) -> Outcome:
        try:
            session.ask(deadline, self._kazoo.delete_async, f"{self._path}/{value['name']}")
        except NoNodeError:
            return Outcome("fail", error="not there")
        return Outcome("ok", value)

    def _converge(self, patience: float) -> Outcome:
        """Wait until the view shows what is there; if it never does, what both were at last."""
        deadline = time.monotonic() + patience
        session = Session(self._kazoo)
        try:
            while True:
                there = self._read(session)
                seen = self._shown()
                if seen == there or time.monotonic() > deadline:
                    return Outcome("ok", {"seen": seen, "there": there})
                time.sleep(0.1)
        except (Unanswered, ZookeeperError) as error:
            return Outcome("fail", error=f"{type(error).__name__}: {error}")
        finally:
            session.close()

    def _read(self, session: Session) -> dict[str, str | None]:
        """What the servers hold, as far as the recipe shows it.

        Every change that was called before has been carried out then, or never will be.
        """
        deadline = Deadline(WRITE_PATIENCE_S)
        with suppress(NoNodeError):
            session.ask(deadline, self._kazoo.delete_async, f"{self._path}/none")
        names = session.ask(deadline, self._kazoo.get_children_async, self._path)
        if self._recipe.follows == "children":
            return dict.fromkeys(sorted(names))
        there: dict[str, str | None] = {}
        for name in sorted(names):
            data, _ = session.ask(deadline, self._kazoo.get_async, f"{self._path}/{name}")
            there[name] = data.decode()
        return there


def client(recipe: str, path: str) -> Callable[[ClientContext], ViewClient]:
    """Makes the client's side for one recipe."""
    kind = VIEWS[recipe].recipe
    return lambda context: ViewClient(context, kind, path)


def judge_view(evidence: Evidence) -> Verdict:
    """Do views converge, and never go back?"""
    history = evidence.history
    order = check_view_order(history)
    checks = [order]
    checks.append(check_convergence(history))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement(
                "looks that showed something new", LEAST_NEWS, order.stats["looks_with_news"]
            )
        ],
        expiries=count_expiries(history, evidence.truth),
        expired="sessions of followers that expired",
    )


VIEW = Workload(
    name="view",
    summary="clients follow what stands in a folder while all of them change it",
    catalogue=VIEWS,
    path="/rumpus/view",
    build="rumpus.workloads.view:client",
    model="watch",
    words=WORDS,
    load=load,
    final=final,
    cleanup={},
    judge=judge_view,
    requests=("write", "delete", "create"),
)
