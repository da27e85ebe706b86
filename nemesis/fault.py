"""The base class of faults. Each kind of fault is a class, listed in ``nemesis.registry``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
)

import msgspec

from rumpus.checker.bounds import LONGEST_S
from rumpus.checker.timeline.timeline import Effect
from rumpus.harness.ensemble import Capability, Ensemble
from rumpus.nemesis.entry import Entry, PlanError, check_names, one_of
from rumpus.nemesis.fault_context import FaultContext, Finding
from rumpus.nemesis.targets import Targets

FORCE_BOUND = 5.0
"""Seconds within which an injected fault must be seen to be in force."""

LEAST_LEAD = 0.05
"""Seconds by which an ``escort`` begins earlier, at least."""

Counted = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
"""An option that says which one is meant, from 1."""
Milliseconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_S * 1000)]
"""An option that says how long."""

Target = TypeVar("Target")
"""A server's name or a client's number."""
Target_contra = TypeVar("Target_contra", contravariant=True)


class FaultOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a fault: none here. Subclasses have fields, each with a default."""

    def check(self, nodes: Sequence[str]) -> None:
        """Raise PlanError for values that are wrong though their types are right."""


class LinkOptions(FaultOptions, frozen=True):
    """``nodes``: only the clients' links to these servers are affected (default: all)."""

    nodes: tuple[str, ...] | None = None

    def check(self, nodes: Sequence[str]) -> None:
        """Refuse servers that do not exist."""
        if self.nodes is not None:
            check_names("options.nodes", self.nodes, nodes)


@dataclass(frozen=True)
class Turn:
    """What ``Fault.draw`` must know to draw a fault for a random plan.

    Args:
        rng: makes every choice.
        first: whether the plan has no fault of this kind yet.
        nodes: number of servers.
        needed: seconds that a fault must last for a session to expire.
        longest: seconds that a fault may last.
        requests: kinds of request that clients are sure to make.
        sessions: whether servers end the session of a client that they no longer hear.
    """

    rng: Random
    first: bool
    nodes: int
    needed: float
    longest: float
    requests: Sequence[str]
    sessions: bool = True


class Draft(NamedTuple):
    """A fault that was drawn for a random plan, before its times are drawn.

    ``deposes``: it lasts until a leader is replaced, if there is time. ``lasting``: it fills most
    of its slot (the time until the next fault). ``escort``: targets and options of a second fault
    of the kind, which begins ``lead`` seconds earlier and ends with the first.
    """

    targets: Targets
    options: Mapping[str, Any] = MappingProxyType({})
    deposes: bool = False
    lasting: bool = False
    lead: float = 0.0
    escort: tuple[Targets, Mapping[str, Any]] | None = None


class Fault(ABC, Generic[Target]):
    """One fault of a plan, from its beginning to its end; every entry has an object of its own.

    All calls block. They are made in the order ``choose``, ``inject``, ``in_force``, ``heal``,
    ``healed``. Each may raise whatever servers, links and clients raise. ``heal`` and ``healed``
    must work also after an earlier call failed half-way.
    """

    kind: ClassVar[str]
    """Its name in plans, histories and reports."""
    summary: ClassVar[str]
    """What it does, for tables of faults."""
    works_on: ClassVar[str]
    """What it breaks. Faults that work on the same thing cannot have the same targets at once."""
    alone: ClassVar[str] = ""
    """Why no other fault may work on that thing at the same time; empty: others may."""
    several: ClassVar[bool] = False
    """Whether several faults of the kind can have the same targets at once."""
    gives_way: ClassVar[bool] = False
    """Whether a later fault may take its targets over while it is in force."""
    needs: ClassVar[Capability | None] = None
    """What the ensemble must offer for it; None: what every run has."""
    usual: ClassVar[bool] = True
    """Whether random plans have it by default, wherever the ensemble offers what it needs."""
    sound: ClassVar[bool] = True
    """Whether ZooKeeper keeps its guarantees, however the fault is combined with others."""
    drawn: ClassVar[bool] = True
    """Whether swarms and ``--nemesis all`` have it; else it has to be named."""
    several_nodes: ClassVar[str] = ""
    """Why random plans for a single server cannot have the fault; empty: they can."""
    causes: ClassVar[Effect | None] = None
    """The effect it has in random plans. A run counts only if that effect occurred."""
    takes: ClassVar[type[FaultOptions]] = FaultOptions
    """The type of its options; a field that is a ``Literal`` lists the values allowed."""
    target_fields: ClassVar[tuple[str, ...]] = ("names", "role", "of")
    """The fields of ``Targets`` that can be given."""

    def __init__(self, entry: Entry, context: FaultContext, rng: Random) -> None:
        self.entry = entry
        self.context = context
        self.rng = rng
        self.options: Any = self.read_options(entry)
        self.chosen: list[Target] = []
        """The servers or clients that were chosen; empty before ``choose``."""
        self.reason = ""
        """Why these were chosen, in words."""
        self.injected: float | None = None

    @classmethod
    def form(cls, entry: Entry) -> "type[Fault[Any]]":
        """The class that carries out an entry of this kind."""
        del entry
        return cls

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Make ready what an entry needs of the ensemble before the run begins; nothing here.

        Raises:
            EnvironmentRefusal: it cannot be had on this host.
        """

    @classmethod
    @abstractmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw targets and options for a random plan."""

    @classmethod
    def check(cls, entry: Entry, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Check an entry's targets and options against the servers and clients of a run.

        Raises:
            PlanError: naming the field and what is allowed.
        """
        targets = entry.targets
        given = [name for name in targets.__struct_fields__ if getattr(targets, name) is not None]
        if len(given) != 1 or given[0] not in cls.target_fields:
            raise PlanError(
                f'field "targets" has {" and ".join(given) or "nothing"}; '
                f"for {cls.kind} it must have exactly one of {', '.join(cls.target_fields)}"
            )
        cls.check_targets(targets, nodes, clients)
        cls.read_options(entry).check(nodes)

    @classmethod
    @abstractmethod
    def check_targets(cls, targets: Targets, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Raise PlanError for targets that do not exist."""

    @classmethod
    def read_options(cls, entry: Entry) -> FaultOptions:
        """An entry's options, typed, with defaults for those not given.

        Raises:
            PlanError: an unknown option or a wrong value.
        """
        given = {name: value for name, value in entry.options.items() if value is not None}
        fields = {field.name: field.type for field in msgspec.structs.fields(cls.takes)}
        if unknown := [name for name in given if name not in fields]:
            if not fields:
                raise PlanError(f'field "options" must be empty for {cls.kind}; it takes none')
            raise PlanError(
                f'field "options" has {" and ".join(unknown)}; '
                f"{cls.kind} takes only {', '.join(fields)}"
            )
        for name, value in given.items():
            if get_origin(fields[name]) is Literal:
                one_of(f"options.{name}", value, get_args(fields[name]))
        try:
            return msgspec.convert(given, cls.takes)
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `$")
            raise PlanError(f'field "options{path.rstrip("`")}": {what}') from error

    @property
    @abstractmethod
    def targets(self) -> list[str]:
        """Names of the servers or clients chosen, ``n2`` or ``c3``; empty before ``choose``."""

    @abstractmethod
    def choose(self) -> None:
        """Choose servers or clients by the entry's targets.

        Raises:
            TargetError: there is none to choose.
        """

    @abstractmethod
    def inject(self) -> None:
        """Begin the fault."""

    @abstractmethod
    def in_force(self) -> Finding:
        """Wait until the fault is seen to be in force, at most ``FORCE_BOUND`` seconds."""

    def wait_until_all(self, look: Callable[[Target], Any], wanted: Any, detail: str) -> Finding:
        """Wait until ``look`` returns ``wanted`` for every target; ``detail`` describes that."""
        chosen = self.chosen
        if chosen and self.context.until(
            lambda: all(look(target) == wanted for target in chosen), FORCE_BOUND
        ):
            return Finding(True, detail)
        seen = ", ".join(
            f"{name}: {look(target) or 'whole'}"
            for name, target in zip(self.targets, chosen, strict=True)
        )
        return Finding(
            False, f"not in force after {FORCE_BOUND:g} s: {seen or 'nothing was chosen'}"
        )

    def still_wrong(self, look: Callable[[Target], Any], right: Any) -> str:
        """Names of the targets for which ``look`` does not return ``right``."""
        pairs = zip(self.targets, self.chosen, strict=True)
        return ", ".join(name for name, target in pairs if look(target) != right)

    @abstractmethod
    def heal(self) -> None:
        """Undo what ``inject`` did, even if it failed half-way."""

    @abstractmethod
    def healed(self, timeout: float) -> Finding:
        """Wait until its targets work again, at most ``timeout`` seconds."""

    def record(self) -> dict[str, Any]:
        """What the history says of the fault beside its kind and targets."""
        return {}
