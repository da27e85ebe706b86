"""What is known of a night: its runs, their failures, and what went wrong with the night itself.

The performing of a night makes these, the store (``memory.store``) keeps them, and the documents
(``night.json``, JUnit, Markdown) and ``rumpus compare`` are made of them.
"""

import hashlib
import re
from typing import Annotated, Any, Final, Literal

import msgspec

from rumpus.campaigns.case import Case
from rumpus.campaigns.looks import Look
from rumpus.checker.verdict import Blamed, Outcome
from rumpus.results.fingerprint import Fingerprint

Moment = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
"""Seconds since the epoch, up to the year 9999."""
Length = Annotated[float, msgspec.Meta(ge=0, le=10**12)]
"""Seconds that something took, in all."""

Ensemble = Literal["sim", "docker"]

Role = Literal["case", "canary", "run", "again", "command"]
"""Why a run was performed.

``case``: a kept failure is replayed; likewise the runs that look for one anew. ``canary``: a known
mistake must be caught. ``run``: a recipe is on trial. ``again``: a run is performed a second time,
to see that it is the same. ``command``: not a run, but a command of the night's file.
"""


_LONG: Final = re.compile(rb"[0-9]{19}")
"""What every document has that has a whole number of more than 64 bits."""


def bounded_json(text: bytes, kind: Any) -> Any:
    """A night, or a part of what is known of one, of its JSON.

    JSON has whole numbers of any length, and SQLite and MessagePack have not. No night has one
    that takes more than 64 bits.

    Args:
        text: the JSON.
        kind: what it is decoded as.

    Raises:
        msgspec.MsgspecError, UnicodeError, RecursionError: it is no such value.
    """
    if _LONG.search(text):
        places = [msgspec.json.decode(text)]
        while places:
            value = places.pop()
            if isinstance(value, dict):
                places += value.values()
            elif isinstance(value, list):
                places += value
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise msgspec.ValidationError("a whole number in it has more than 64 bits")
    return msgspec.json.decode(text, type=kind)


class Subject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is put on trial: a recipe, in a world, with software and options.

    Attributes:
        workload: its name or reference.
        recipe: likewise.
        world: where the servers run.
        zookeeper: the version of the servers that is asked for; empty: the usual one.
        kazoo: the version, or the directory, of the clients' kazoo; empty: the installed one.
        options: further options of ``rumpus run``, by their names in ``pyproject.toml``.
    """

    workload: str
    recipe: str
    world: Ensemble = "sim"
    zookeeper: str = ""
    kazoo: str = ""
    options: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """One line that names it, and nothing else: ``lock / fair, sim, kazoo 2.10.0``."""
        parts = [self.thing, self.world]
        parts += [f"zookeeper {self.zookeeper}"] if self.zookeeper else []
        parts += [f"kazoo {self.kazoo}"] if self.kazoo else []
        parts += [f"{name}={_told(self.options[name])}" for name in sorted(self.options)]
        return ", ".join(parts)

    @property
    def thing(self) -> str:
        """Workload and recipe, as in ``lock / fair``."""
        return f"{self.workload} / {self.recipe}"


def _told(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class RunRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a night.

    Attributes:
        role: why it was performed.
        subject: the ``key`` of what was on trial; the command itself of a command.
        name: of the case, the canary or the command; empty for other runs.
        kind: what kind of run it was: ``usual``, ``swarm``, ``short``, ``systematic``, ``case``.
        seed: the run's.
        outcome: of the verdict; None if the run could not be performed.
        why: the first reason of an outcome that is not ``valid``; or why it was not performed.
        exit_code: what ``rumpus run`` would have exited with.
        at: when it ended, in seconds since the epoch.
        seconds: how long it took, by the clock; shared ones have their share.
        cpu_seconds: processor time.
        virtual_seconds: how long it took on its own clock; 0 on real servers.
        operations: how many operations clients called.
        digest: of a simulated run.
        versions: of the software that was used.
        figures: what was measured (``rumpus.results.figures``): name -> value.
        failures: identifiers of the failures that it showed (``FailureRow.id``), promises broken.
        faults: kinds of fault that were in force.
        found: of a case's run, what the case is found to be (``kept_cases.State``); of a canary's,
            whether it was ``found`` or ``missed``; of a run that was performed again, whether it
            was the ``same`` or ``another``.
    """

    role: Role
    subject: str
    name: str = ""
    kind: str = ""
    seed: int = 0
    outcome: Outcome | None = None
    why: str = ""
    exit_code: int = 0
    at: Moment = 0.0
    seconds: Length = 0.0
    cpu_seconds: Length = 0.0
    virtual_seconds: Length = 0.0
    operations: int = 0
    digest: str | None = None
    versions: dict[str, str] = {}
    figures: dict[str, float] = {}
    failures: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    found: str = ""


class FailureRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A failure, by whichever runs it was shown.

    Attributes:
        workload: of the runs that show it.
        recipe: likewise.
        fingerprint: with the faults that it needs, as far as shrinking has shown.
        blamed: whose promise it breaks.
        case: the smallest run found that shows it; None of a run that ends its process.
        shrunk: whether that was shrunk.
        first_night: the name of the first night that saw it; likewise ``last_night``.
        first_seen: when, in seconds since the epoch; likewise ``last_seen``.
        runs: how many runs of all nights have shown it.
        looks: the ways in which it shows, in the order in which they were seen.
    """

    workload: str
    recipe: str
    fingerprint: Fingerprint
    blamed: Blamed = "recipe"
    case: Case | None = None
    shrunk: bool = False
    first_night: str = ""
    last_night: str = ""
    first_seen: Moment = 0.0
    last_seen: Moment = 0.0
    runs: int = 0
    looks: tuple[Look, ...] = ()

    @property
    def id(self) -> str:
        """By which people name it: ten hexadecimal digits."""
        return failure_id(self.workload, self.recipe, self.fingerprint)

    def __str__(self) -> str:
        """As in ``lock / fair: double-grant of acquire after kill``."""
        return f"{self.workload} / {self.recipe}: {self.fingerprint}"


def failure_id(workload: str, recipe: str, fingerprint: Fingerprint) -> str:
    """The identifier of a failure: a digest of what is on trial and of the fingerprint."""
    text = "\0".join([workload, recipe, str(fingerprint)])
    return hashlib.sha256(text.encode()).hexdigest()[:10]


class Trouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that kept a night from looking where it should have looked.

    Attributes:
        kind: ``world``: runs could not be performed there; ``unstable``: a run was not the same
            when performed again; ``defect``: of rumpus; ``store``, ``notify``, ``command``: what
            their names say; ``usage``: what was asked for does not exist, or names code that nobody
            has trusted; ``unfinished``: a run was ended, as the budget was over.
        what: in words.
        runs: how many runs it has cost.
    """

    kind: Literal[
        "world", "unstable", "defect", "store", "notify", "command", "usage", "unfinished"
    ]
    what: str
    runs: int = 1


class NightRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A night as a whole.

    Attributes:
        name: the date on which it began, and a number if there are several: ``2026-11-26.2``.
        began: in seconds since the epoch.
        ended: likewise; None while it goes on, or if it was killed.
        budget: how long it was to take, in seconds.
        seconds: how long it took, without the time between a kill and ``--resume``.
        seed: from which the seeds of its runs are drawn.
        interrupted: whether somebody ended it early.
        branch: of the repository in which it ran; empty if there is none. Likewise ``commit``.
        commit: abbreviated.
        versions: of the software that was used, by name.
        asked: the night's file, as plain data, with all defaults; what ``--resume`` goes on with.
        headline: its first line.
        exit_code: the command's.
        counts: what came of it: ``runs``, ``broken``, ``regressions``, ``stale`` and so on.
        troubles: what kept it from looking.
        shard: ``I/N`` if it is a part of a night.
    """

    name: str
    began: Moment
    ended: Moment | None = None
    budget: Length = 0.0
    seconds: Length = 0.0
    seed: int = 0
    interrupted: bool = False
    branch: str = ""
    commit: str = ""
    versions: dict[str, str] = {}
    asked: dict[str, Any] = {}
    headline: str = ""
    exit_code: int = 0
    counts: dict[str, int] = {}
    troubles: tuple[Trouble, ...] = ()
    shard: str = ""
