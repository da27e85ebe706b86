"""The base class of workloads: a subclass declares what its clients do, the rest is derived.

The operations' methods give the types of the values in histories, and how a client carries out a
call. The scripts give the load and the final phase; ``checks`` and ``needs`` give the verdict.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from rumpus.checker.check import Check
from rumpus.checker.every_run.errors import check_errors
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Asked, Effect, Timeline
from rumpus.checker.verdict import CheckResult, Verdict, judge
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.combinators import phases, stagger
from rumpus.harness.generators.generator import Generator, Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, each_client
from rumpus.harness.generators.usage import USUAL, Usage, parse_usage, usage_words
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.recipes.contests.interfaces import Recipe
from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import SERVICES
from rumpus.workloads.framework.checks import Need, is_own
from rumpus.workloads.framework.judgement import findings
from rumpus.workloads.framework.open_client import OpenClient
from rumpus.workloads.framework.operation import Bound, Operation
from rumpus.workloads.framework.used_client import UsedClient, asking, paced, without_storms
from rumpus.workloads.own.own_recipe import OwnRecipe, is_of_kazoo
from rumpus.workloads.own.promise_names import common, with_names
from rumpus.workloads.own.references import NotFound, is_reference, referred, unknown_recipe

REST_S: Final = 0.01
"""How long a client rests after a recipe of another repository has failed at once.

One that refuses without waiting would otherwise be asked a hundred thousand times a second.
"""

FINAL_BOUND_S: Final = 15.0
"""How long a client may take, once every fault is healed, to get what it waits for."""


class Workload(ABC):
    """The base of workloads. The first line of a subclass's docstring is its summary.

    Attributes:
        name: the workload's name on the command line.
        catalogue: recipe name -> the recipe and its promises, sound recipes first; in other
            repositories just classes, or functions, that make recipes.
        elsewhere: recipe name -> the entry of a recipe for servers that are not ZooKeeper's.
        of_kazoo: kazoo's classes for the same purpose: put on trial as they are, one object for a
            client's life, by the family's adapter, which repairs nothing.
        adapter: makes an object of another repository a recipe of the family.
        model: the name of the specification that its histories must follow.
        main: the operation by which clients get what they compete or wait for; the measures are
            of this operation.
        holding: the operations that begin and end a hold, where clients hold something for a time.
            Faults are aimed at holders. If the workload defines ``believes``, the history records
            from each grant on whether the holder believes that it holds.
        contended: whether a hold keeps other clients waiting; the measures then include handovers
            and wake-ups.
        called: operation -> its name in histories, where a subclass renames an inherited one.
        rate: mean seconds from one operation of the load to the next, over all clients;
            None: as fast as the scripts allow.
        renewed: whether a client begins the load script anew after an operation of unknown
            outcome (``info``), as another process; else it goes on with its script.
        timed_actions: whether ``WorkloadContext.action`` can set how long holders' actions take.
        exchangeable: whether a client that holds nothing may go on with another object of the
            recipe, and in another session.
        cleanup: operation -> the operation that is called if the outcome of the former is unknown,
            to undo it.
        requests: kinds of request that clients of every recipe are sure to send under load.
        plain: whether sound recipes only pass requests to the servers, so that a broken promise is
            the servers' fault.
        uses_answers: whether recipes put a part of an answer, such as the path of a sequential
            znode, into their next request.
        checks: the checks of its histories. What a check of another repository finds is a
            violation, whatever the recipe promises, unless it is among ``hazards``.
        anomalies: the kinds of anomaly that its checks report and rumpus does not have: kind ->
            its meaning in one line.
        hazards: kinds that its checks report and that are no violations unless they are promised.
        needs: what a run must have exercised, or its verdict is ``inconclusive``. Where a class of
            another repository says it, what the checks ask for by themselves does not count. In a
            direct subclass of another repository that is all; in rumpus's own families, and what
            inherits from them, the faults must have had their usual effects, too.
        expired: the name, in the report, of what ``expiries`` counts.
    """

    name: ClassVar[str]
    catalogue: ClassVar[Mapping[str, Any]] = {}
    elsewhere: ClassVar[Mapping[str, OtherSystemEntry]] = {}
    of_kazoo: ClassVar[Sequence[str]] = ()
    adapter: ClassVar[type[OwnRecipe]] = OwnRecipe
    model: ClassVar[str]
    main: ClassVar[str] = ""
    holding: ClassVar[Words | None] = None
    contended: ClassVar[bool] = False
    called: ClassVar[Mapping[str, str]] = {}
    rate: ClassVar[float | None] = None
    renewed: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = False
    cleanup: ClassVar[Mapping[str, str]] = {}
    requests: ClassVar[Sequence[str]] = ("create", "delete", "read")
    plain: ClassVar[bool] = False
    uses_answers: ClassVar[bool] = False
    timed_actions: ClassVar[bool] = False
    checks: ClassVar[Sequence[Check]] = ()
    anomalies: ClassVar[Mapping[str, str]] = {}
    hazards: ClassVar[Collection[str]] = ()
    needs: ClassVar[Sequence[Need]] = ()
    expired: ClassVar[str] = "expired sessions"

    def __init_subclass__(cls) -> None:
        """Refuse a class that judges in a way that nobody asks for.

        Raises:
            TypeError: it has ``results``, whose checks would silently not be performed.
        """
        super().__init_subclass__()
        if "results" in vars(cls):
            raise TypeError(
                f"{cls.__name__}.results is never called: name the checks in `checks`, functions "
                "of the timeline, or give them in `judged_by`"
            )

    def __init__(self, *, clients: int = 0, path: str = "") -> None:
        """Made by the command line, and again in each client's process.

        Args:
            clients: how many clients there are; 0 if that is not known yet.
            path: the znode below which everything happens.
        """
        self.clients = clients
        self.path = path or f"/rumpus/{self.name}"

    # What a subclass declares.

    @abstractmethod
    def open(self, recipe: Any, context: ClientContext) -> Any:
        """What one client's operations work on: recipe objects, and the client's own state."""

    def prepare(self, opened: Any) -> None:  # noqa: B027 - most have nothing to do
        """What a client does before its first operation. Operations fail until it succeeds."""

    def close(self, opened: Any) -> None:  # noqa: B027 - most have nothing to do
        """End what ``opened`` has going on in the background. Must not block.

        A ``KazooClient`` is stopped without it.
        """

    @abstractmethod
    def load(self, client: Client) -> Steps:
        """What each client does while there are faults."""

    @abstractmethod
    def final(self) -> Sequence[ScriptFunction]:
        """What each client does once every fault is healed: scripts, one after the other.

        A script begins when all clients have finished the one before.
        """

    def question(self, recipe: Any) -> Invocation | None:  # noqa: ARG002 - for subclasses
        """The call by which a client asks a recipe of this class about itself (usage ``asks``).

        None if it cannot be asked.
        """
        return None

    def parents(self, recipe: Any) -> Sequence[str]:
        """The znodes that somebody may delete when they are empty (usage ``vanishing``).

        Where clients contend: the parent of their nodes. None if the path itself is somebody's
        node, or if nobody says where the nodes are.
        """
        line = recipe.line(self.path) if self.exchangeable and hasattr(recipe, "line") else None
        if line is None:
            return []
        known = line.kind in ("sequential", "pool") or is_of_kazoo(getattr(recipe, "factory", None))
        return [line.path] if known else []

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - for subclasses
        """How many clients it takes for the load to show anything of a recipe of this class.

        Where numbers of clients are drawn, none is smaller.
        """
        return 2

    def shared(self) -> Any:
        """State that the scripts of all clients share: made anew for each phase, None if none."""
        return None

    def on_completion(self, shared: Any, came: Op) -> None:  # noqa: B027 - most have nothing to do
        """Note in ``shared`` how an operation of the phase ended, as soon as it ends.

        The script itself learns of it later: when its client is asked for the next operation.
        """

    def believes(self, opened: Any) -> bool | float:  # noqa: ARG002 - for subclasses
        """Whether the client believes that it holds; or for how many more seconds.

        See ``harness.clients.client_body.WorkloadClient``.
        """
        return False

    def judged_by(self) -> Sequence[Check]:
        """The checks, in order."""
        return self.checks

    def expiries(
        self,
        timeline: Timeline,
        results: Sequence[CheckResult],  # noqa: ARG002 - for subclasses
    ) -> int | None:
        """How many sessions expired when it mattered; None if that cannot be known."""
        return timeline.expiries

    # What is derived from that.

    @property
    def summary(self) -> str:
        """In one line, what its clients do."""
        text = inspect.getdoc(type(self)) or ""
        line = text.partition("\n\n")[0].replace("\n", " ").rstrip(".")
        return line[:1].lower() + line[1:]

    @property
    def recipes(self) -> dict[str, type[Recipe]]:
        """The recipes' classes by name."""
        return {name: self.recipe_of(name) for name in self.catalogue}

    def is_named(self, recipe: str) -> bool:
        """Whether one of the workload's own recipes has this name, those for other servers too."""
        return recipe in self.catalogue or recipe in self.elsewhere

    @property
    def operations(self) -> dict[str, Bound]:
        """The operations by name."""
        found = {}
        for owner in reversed(type(self).__mro__):
            for name, value in vars(owner).items():
                if isinstance(value, Operation):
                    bound: Bound = getattr(self, name)
                    found[bound.f] = bound
        return found

    @property
    def is_own(self) -> bool:
        """Whether it is a class of another repository."""
        return is_own(type(self))

    @property
    def tells_belief(self) -> bool:
        """Whether the workload can tell what its clients believe (``believes``)."""
        return type(self).believes is not Workload.believes

    @property
    def build(self) -> str:
        """``module:class``, by which a client's process finds the workload."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    @property
    def words(self) -> Words:
        """``holding``, or only the ``main`` operation where clients hold nothing."""
        return self.holding or Words(acquire=self.main, work="", release="")

    @property
    def shapes(self) -> dict[str, tuple[Any, Any]]:
        """Operation -> the types of its call's value and of its answer."""
        return {name: bound.shapes() for name, bound in self.operations.items()}

    @classmethod
    def recipe_of(
        cls, name: str, promised: Sequence[str] = (), *, services: bool = False
    ) -> type[Recipe]:
        """The recipe of this name: one of the catalogue, or ``package.module:Name``.

        Args:
            name: the name.
            promised: names of what it promises, where its author does not say; of those of the
                catalogue it is known.
            services: whether it lives on servers of the user's, in place of ZooKeeper's.

        Raises:
            NotFound: there is none, or it has not what the family needs.
            MissingLibrary: it is for other servers, and the library for these is not installed.
            ValueError: a promise is unknown, or the recipe cannot live on services.
        """
        found = cls._found(name)
        if services:
            return cls._on_services(name, found, promised)
        if cls._is_entered(name):
            if not promised:
                kind: type[Recipe] = found
                return kind
            promises = with_names(found.promises, promised, cls._kinds())
        else:
            promises = cls.adapter.promises_of(
                found, name, cls._usual_promises(), promised, cls._kinds()
            )
        return cls._promising(name, found, promises)

    @classmethod
    def _on_services(cls, name: str, found: Any, promised: Sequence[str]) -> type[Recipe]:
        """The class of a recipe that lives on services; errors as of ``recipe_of``."""
        if cls._is_entered(name):
            raise ValueError(
                f"--service is for recipes of your own (package.module:Name); {name} knows its "
                "servers"
            )
        if not cls.adapter.lives_on_services:
            raise ValueError(
                f"a recipe of {cls.name} cannot live on services (--service): locks, semaphores, "
                "read-write locks and elections can"
            )
        promises = cls.adapter.promises_of(
            found, name, cls._usual_promises(), promised, cls._kinds(), services=True
        )
        kind: Any = cls.adapter.promising(found, promises)
        kind.system = SERVICES
        made: type[Recipe] = kind
        return made

    @classmethod
    def _is_entered(cls, name: str) -> bool:
        """Whether the catalogues have a recipe of this name that needs no adapter."""
        entry = cls.catalogue.get(name)
        complete = isinstance(entry, CatalogueEntry) and _is_complete(entry.recipe)
        return complete or name in cls.elsewhere

    @classmethod
    def _found(cls, name: str) -> Any:
        """The class or function that a recipe's name stands for; raises as ``recipe_of``."""
        if name in cls.elsewhere:
            return cls.elsewhere[name].load()
        entry = cls.catalogue.get(name)
        if entry is not None:
            return entry.recipe if isinstance(entry, CatalogueEntry) else entry
        if is_reference(name):
            return referred(name)
        raise NotFound(unknown_recipe(name, cls.name, {**cls.catalogue, **cls.elsewhere}))

    @classmethod
    def _promising(cls, name: str, found: Any, promises: Promises) -> type[Recipe]:
        """The class of a recipe that was found by its name, and promises this."""
        if cls._is_entered(name):
            return type(found.__name__, (found,), {"promises": promises})
        return cls.adapter.promising(found, promises)

    @classmethod
    def _kinds(cls) -> frozenset[str]:
        """The kinds of anomaly that the workload has besides those of rumpus."""
        return frozenset({*cls.anomalies, *cls.hazards})

    @classmethod
    def _usual_promises(cls) -> Promises:
        """What all of the family's own recipes promise that keep their promises.

        And what the workload itself declares; but not its hazards.
        """
        entries = [each for each in cls.catalogue.values() if isinstance(each, CatalogueEntry)]
        sound = [each.recipe for each in entries if not each.faulty]
        usual = common([recipe.promises for recipe in sound if _is_complete(recipe)])
        prevents = (usual.prevents | set(cls.anomalies)) - set(cls.hazards)
        return replace(usual, prevents=prevents)

    def options(
        self,
        recipe: str,
        clients: int,
        kind: type[Recipe] | None = None,
        usage: Usage = USUAL,
    ) -> dict[str, Any]:
        """The arguments of ``builder`` in a client's process, as plain data.

        Args:
            recipe: the recipe's name.
            clients: how many clients there are.
            kind: the recipe's class; None: what a client finds by the name.
            usage: how clients use the recipe.
        """
        more: dict[str, Any] = {}
        if kind is not None and not (self._is_entered(recipe) and kind is self._found(recipe)):
            more["promises"] = msgspec.to_builtins(kind.promises)
        if usage != USUAL:
            more["usage"] = usage_words(usage)
        return {"recipe": recipe, "clients": clients, "path": self.path, **more}

    @classmethod
    def builder(
        cls,
        *,
        recipe: str,
        clients: int,
        path: str,
        promises: Mapping[str, Any] | None = None,
        usage: str = "",
    ) -> Callable[[ClientContext], OpenClient]:
        """A function that makes the client's side, for use in the client's process.

        A class cannot be passed to that process: the recipe's name is, and what it promises.
        """
        workload = cls(clients=clients, path=path)
        if promises is None:
            kind = cls.recipe_of(recipe)
        else:
            known = msgspec.convert(promises, Promises)
            kind = cls._promising(recipe, cls._found(recipe), known)
        rest = REST_S if is_reference(recipe) else 0.0
        if not usage:
            return lambda context: OpenClient(workload, workload.open(kind, context), rest)
        how = parse_usage(usage)
        return lambda context: UsedClient(
            workload,
            kind,
            msgspec.structs.replace(context, called=how.name(context.client)),
            how,
            rest,
        )

    def load_of(self, context: WorkloadContext) -> Generator:
        """The load as a generator."""
        shared = self.shared()
        script = asking(self.load, self.question(context.recipe), context.usage)
        load = each_client(
            without_storms(paced(script, context.usage)),
            context,
            shared=shared,
            on_completion=partial(self.on_completion, shared),
            renew=self.renewed,
        )
        if self.rate is None:
            return load
        return stagger(self.rate, load, seed=context.seed.child("rate"), early=False)

    def final_of(self, context: WorkloadContext) -> Generator:
        """The final phase as a generator."""
        shared = self.shared()
        return phases(
            *(
                each_client(
                    without_storms(script),
                    replace(context, until=0),
                    seed=context.seed.child(number),
                    shared=shared,
                    on_completion=partial(self.on_completion, shared),
                    renew=False,
                )
                for number, script in enumerate(self.final())
            )
        )

    def judge(self, timeline: Timeline) -> Verdict:
        """The verdict of the workload's checks on a run."""
        return judge(
            findings(self, self.lay_out(timeline), [*self.judged_by(), check_errors]),
            timeline.promises.prevents,
            strict=timeline.strict,
        )

    def lay_out(self, timeline: Timeline) -> Timeline:
        """A run's timeline with what the workload knows of it: who may hold, and how many."""
        return replace(timeline, words=self.words, contended=self.contended)

    def effects_of(self, asked: Asked) -> set[Effect]:
        """What the faults that were asked for must have caused."""
        from rumpus.nemesis.registry import effects  # noqa: PLC0415 - not in a client's process

        usual = any(
            issubclass(each, Workload) and each is not Workload and not is_own(each)
            for each in type(self).__mro__
        )
        return {*(effects(asked.kinds) if usual else ()), *asked.effects}

    @property
    def has_own_needs(self) -> bool:
        """Whether a class of another repository says what must have happened: then nothing else."""
        return any("needs" in vars(each) and is_own(each) for each in type(self).__mro__)

    @staticmethod
    def is_own_check(check: Any) -> bool:
        """Whether a check, or a class, is one of another repository."""
        return is_own(check)


def _is_complete(kind: Any) -> bool:
    """Whether a class has what ``Recipe`` declares, so that it needs no adapter."""
    return isinstance(getattr(kind, "promises", None), Promises) and hasattr(kind, "line")
