"""The options of a run: each is declared here, and nowhere else.

CONTRIBUTING.md, "A new option", says what follows from a declaration.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from rumpus.harness.clients.handlers import HANDLERS, Handler
from rumpus.harness.generators.usage import Usage, parse_usage
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES, USUAL_VERSION
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.registry import BUILT_IN, EVERYWHERE, SIMULATED, SOUND
from rumpus.nemesis.swarm import PROFILES, ProfileName
from rumpus.option_values import (
    OWN_PACKAGES,
    SHARED_PACKAGES,
    Choice,
    File,
    Flag,
    Function,
    Names,
    Seconds,
    Text,
    Whole,
    WrongValue,
)
from rumpus.runs.ensemble_choice import ENSEMBLES, Ensemble
from rumpus.runs.option import Option, declared_by
from rumpus.runs.services import Services
from rumpus.simulation.kernel.preemption import MODES, Mode
from rumpus.workloads.own.promise_names import NAMES
from rumpus.workloads.registry import WORKLOADS

TICK_MS: Final = 500
"""The servers' ``tickTime``."""

MOST_REAL_CLIENTS: Final = 100
"""Clients on real servers: each is a process of this machine."""


class _Kinds(Names):
    """Kinds of fault; ``none`` and ``all`` stand for lists of them."""

    def read(self, text: str) -> list[str]:
        """The kinds."""
        kinds = [kind.strip() for kind in text.split(",")]
        if kinds == ["none"]:
            return []
        if kinds == ["all"]:
            return list(SOUND)
        if kinds == [""]:
            there = f"there are {', '.join(BUILT_IN)}; or none or all, by itself"
            raise WrongValue(f"it is empty; {there}")
        return kinds


class _Usage(Text):
    """A usage, as ``parse_usage`` reads it."""

    def checked(self, value: Any) -> str:
        """The usage in words."""
        words = super().checked(value)
        try:
            parse_usage(words)
        except ValueError as error:
            raise WrongValue(f"{words}: {error}") from error
        return words


@dataclass(frozen=True)
class RunOptions:
    """The options of a run: those of ``rumpus run``, and the arguments of ``rumpus.run``."""

    workload: Annotated[
        Any,
        Option(
            words=f"{', '.join(WORKLOADS)}; or package.module:Class, a workload of your own",
            in_python="what the clients do: the name of a workload (`rumpus list`), or a subclass "
            "of `rumpus.Workload`. Options that are left out have the defaults of your "
            "`pyproject.toml` for it (docs/reference/configuration.md), or else these",
            values=Text(),
            refers="workload",
            metavar="WORKLOAD",
            in_project=False,
        ),
    ]
    recipe: Annotated[
        Any,
        Option(
            words="recipe to put under load, see `rumpus list`; or package.module:Name, a class or "
            "function of your own that makes one from a kazoo client and a path",
            in_python="what they use: the name of one of the workload's recipes, or a class or "
            "function of your own, which is called with a started kazoo client and a path. It must "
            "be importable (at the top of its module)",
            usual="the workload's first",
            values=Text(blank=True),  # a workload of your own may have no recipes
            refers="recipe",
            in_project=False,
        ),
    ] = None
    _: KW_ONLY
    promises: Annotated[
        Collection[str],
        Option(
            words="what your own recipe promises besides what its family usually does: "
            f"{', '.join(NAMES)}, or names of anomalies that never happen, separated by commas",
            in_python="what a recipe of your own promises besides what its family usually does: "
            "names such as `fifo`, or of anomalies",
            values=Names(),
            spelled="promise",
            in_project=False,
        ),
    ] = ()
    ensemble: Annotated[
        Ensemble,
        Option(
            words="where the servers run: real ones in Docker, or simulated ones on virtual time, "
            "where a run is decided by its seed",
            usual="auto, docker if an engine answers",
            in_python="`sim`: simulated servers on virtual time; `docker`: real ones; `auto`: real "
            "ones if a Docker engine answers",
            values=Choice(ENSEMBLES),
        ),
    ] = "auto"
    service: Annotated[
        Sequence[str] | Mapping[str, str],
        Option(
            words="server of yours that your own recipe lives on, in place of ZooKeeper's; the "
            "recipe gets a link to it by its parameter `services`; may be given several times",
            in_python="servers of yours that a recipe of your own lives on, in place of "
            "ZooKeeper's: name -> `host:port`, or `name=host:port` each. The recipe gets links to "
            "them by its parameter `services`",
            values=Services(),
            several=True,
            in_project=False,
        ),
    ] = ()
    nodes: Annotated[int, Option(words="number of servers", values=Whole(1, 9))] = 3
    clients: Annotated[
        int,
        Option(
            words=f"number of clients; more than {MOST_REAL_CLIENTS} are simulated only",
            values=Whole(1, 300),
        ),
    ] = 5
    time_limit: Annotated[
        float | None,
        Option(
            words="seconds of load",
            usual="60; simulated swarm runs draw it",
            in_python="seconds of load of each run; 20 in the simulation, 60 on real servers; "
            "simulated swarm runs draw it",
            values=Seconds(),
        ),
    ] = None
    nemesis: Annotated[
        Sequence[str | type[Fault[Any]]] | None,
        Option(
            words="kinds of fault, separated by commas, or none, or all; see `rumpus list`; or "
            "package.module:Class for one of your own",
            usual=f"{', '.join(EVERYWHERE)}; on simulated servers also "
            f"{', '.join(kind for kind in SIMULATED if kind not in EVERYWHERE)}",
            in_python="kinds of fault, names or subclasses of `rumpus.Fault`; None for the usual "
            "ones, [] for none",
            values=_Kinds(),
            metavar="KINDS",
            refers="fault",
            in_case=False,
        ),
    ] = None
    fault: Annotated[
        Sequence[str | type[Fault[Any]]],
        Option(
            words="kinds of fault of your own that take part besides those of --nemesis: "
            "package.module:Class, or names of your pyproject.toml, separated by commas",
            in_python="kinds of fault of your own that take part besides those of `nemesis`: names "
            "or subclasses of `rumpus.Fault`",
            values=Names(),
            refers="fault",
            in_project=False,
        ),
    ] = ()
    nemesis_interval: Annotated[
        float,
        Option(
            words="seconds from one fault to the next",
            usual="10, or less so that every kind occurs",
            in_python="seconds from one fault to the next, or less so that every kind occurs",
            values=Seconds(),
            in_case=False,
        ),
    ] = 10.0
    seed: Annotated[
        int | None,
        Option(
            words="seed of every random choice",
            usual="a new one",
            in_python="the first seed",
            values=Whole(-(2**63), 2**63 - 1),
            in_case=False,
        ),
    ] = None
    plan: Annotated[
        str | Path | None,
        Option(
            words="file with the faults to inject, instead of random ones: plan.json of a run",
            values=File(),
            excludes=("nemesis",),
            in_project=False,
            in_case=False,
        ),
    ] = None
    swarm: Annotated[
        ProfileName | None,
        Option(
            words="draw faults that overlap, and what is not given: clients, servers, session "
            "timeout, usage and simulated load, another selection for each seed",
            usual="no; without a profile: normal",
            in_python="draw faults that overlap, and another number of clients and servers, "
            "session timeout, usage and simulated load for each seed; what differs from its "
            "default is not drawn",
            values=Choice(tuple(PROFILES)),
            bare="normal",
            needs={"zookeeper": "", "python": ""},
            in_case=False,
        ),
    ] = None
    usage: Annotated[
        str,
        Option(
            words=f"how clients use the recipe: {', '.join(Usage.__struct_fields__)} "
            "(docs/reference/plans-and-usage.md; default: as the workload's script says)",
            in_python="how clients use the recipe, `name=value` separated by commas "
            "(docs/reference/plans-and-usage.md)",
            values=_Usage(),
            metavar="NAME=VALUE,...",
            special=True,
        ),
    ] = ""
    preemption: Annotated[
        Literal["auto"] | Mode,
        Option(
            words="when simulated threads may be preempted: never, and the one that is ready first "
            "runs first (none); when they block (blocking); also at operations of locks, clocks "
            "and sockets (primitives); also at any line of code (lines)",
            usual="auto, drawn from the seed",
            in_python="when simulated threads may be preempted; `auto`: drawn from the seed",
            values=Choice(("auto", *MODES)),
            needs={
                "sim": "simulated runs, as nobody but the system decides when real threads are "
                "preempted"
            },
        ),
    ] = "auto"
    server_mutant: Annotated[
        str | None,
        Option(
            words="run simulated servers with one known mistake, see `rumpus list`",
            usual="none",
            values=Text(),
            metavar="NAME",
            needs={"sim": "simulated servers", "zookeeper": "", "python": ""},
        ),
    ] = None
    image: Annotated[
        str | None,
        Option(
            words="Docker image of the servers",
            usual="one that rumpus builds",
            values=Text(),
            needs={"docker": "simulated servers have no image", "zookeeper": ""},
        ),
    ] = None
    zookeeper: Annotated[
        str | None,
        Option(
            words="version of ZooKeeper that real servers have; its image is built when it is "
            f"missing; 3.9 means the newest 3.9: {', '.join(DEBIAN_RELEASES)}",
            usual=USUAL_VERSION,
            values=Text(),
            metavar="VERSION",
            needs={
                "docker": f"simulated servers behave as ZooKeeper {USUAL_VERSION}",
                "zookeeper": "",
            },
            excludes=("image",),
        ),
    ] = None
    kazoo: Annotated[
        str | Path | None,
        Option(
            words="kazoo that the clients run with: a version, which pip installs once into a "
            "cache, or a directory: a checkout, or one with the package kazoo in it. +FILE after "
            "that, once or more, applies a change to it: a unified diff, a document with one, or a "
            "directory of these; +FILE alone, to the installed one",
            usual="the installed one",
            values=Text(home=True),
            metavar="VERSION|PATH",
            needs={"zookeeper": "", "python": ""},
        ),
    ] = None
    patch: Annotated[
        str | Path | None,
        Option(
            words="change that is applied to the clients' modules as they are loaded, their files "
            "stay as they are: a unified diff, with paths as of an import, a/shop/locks.py",
            usual="none",
            values=Text(home=True),
            metavar="FILE",
            needs={"sim": "simulated clients, whose modules rumpus loads", "python": ""},
            in_project=False,
        ),
    ] = None
    handler: Annotated[
        Handler,
        Option(
            words="what the clients' threads are, and so kazoo's handler: threads, or greenlets of "
            "gevent or eventlet, which must be installed; those run on real servers only",
            values=Choice(HANDLERS),
            needs={
                "docker": "greenlets wait in the operating system, which cannot be simulated",
                "python": "",
            },
        ),
    ] = HANDLERS[0]
    fencing: Annotated[
        bool,
        Option(words="let the protected resource refuse stale fencing tokens", values=Flag()),
    ] = False
    session_timeout: Annotated[
        float,
        Option(
            words="ZooKeeper session timeout in seconds",
            # Servers grant session timeouts of 2 to 20 ticks.
            values=Seconds(2 * TICK_MS / 1000, 20 * TICK_MS / 1000),
            special=True,
        ),
    ] = 2.0
    action_time: Annotated[
        float,
        Option(
            words="seconds that half of the holders' actions take, from the look whether the lock "
            "is still held to the effect",
            values=Seconds(0, 30),
            special=True,
        ),
    ] = 0.0
    guard: Annotated[
        float,
        Option(
            words="seconds of validity that must be left for an action to begin; for recipes that "
            "know how long they hold",
            values=Seconds(0, 30),
            special=True,
        ),
    ] = 0.0
    strict: Annotated[
        bool, Option(words="hazards make the run a violation, too", values=Flag())
    ] = False
    private: Annotated[
        Sequence[str],
        Option(
            words="packages of which each simulated client gets its own copy, besides those that "
            "are found to use time, threads, sockets or random numbers",
            values=OWN_PACKAGES,
            metavar="PACKAGES",
            in_project=False,  # the table has them for all workloads
        ),
    ] = ()
    shared: Annotated[
        Sequence[str],
        Option(
            words="packages that all simulated clients share, whatever is found",
            values=SHARED_PACKAGES,
            metavar="PACKAGES",
            in_project=False,
        ),
    ] = ()
    runs: Annotated[
        str | Path,
        Option(
            words="where runs are kept",
            values=File(),
            metavar="DIR",
            in_case=False,
        ),
    ] = "runs"


def _nothing(line: str) -> None:
    """Take a line, and do nothing with it."""


@dataclass(frozen=True)
class TrialOptions(RunOptions):
    """The arguments of ``rumpus.run``: the options of each run, and those of all together."""

    _: KW_ONLY
    ensemble: Ensemble = "sim"
    seed: int = 0
    seeds: Annotated[
        int,
        Option(
            words="how many runs to perform, each with the next seed; the first that breaks a "
            "promise is the last",
            values=Whole(1, 10_000_000),
        ),
    ] = 1
    keep: Annotated[
        bool,
        Option(words="whether to keep the files of runs that broke no promise, too", values=Flag()),
    ] = False
    say: Annotated[
        Callable[[str], None],
        Option(words="called with a line for every step", values=Function(), in_project=False),
    ] = _nothing


TRIAL_OPTIONS: Final = declared_by(TrialOptions)
"""The options by name, as ``rumpus.run`` has them."""
