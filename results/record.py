"""``test.json``: everything needed to run a test again, and to judge it again.

Written when a run starts, and once more when it ends, with more clock anchors.
"""

from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.wire.settings import ServerSettings
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.results.atomic_file import write_atomically
from rumpus.results.escapes import in_shell
from rumpus.results.first_record import MOST_CLIENTS, FirstRecord
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import read_regular

FORMAT_VERSION = 1
"""Version of the files in a run's directory (docs/reference/history-format.md)."""

_LARGEST = 8 << 20  # bytes: room for a plan of thousands of faults and a year of clock anchors


# Numbers in an untrusted file are bounded: some of them become the lengths of lists.
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_CLIENTS)]
_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Nanoseconds = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=10**9)]
_Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ClockAnchor(msgspec.Struct, frozen=True):
    """One moment on both clocks of the control process's machine, in nanoseconds."""

    monotonic: _Nanoseconds
    wall: _Nanoseconds


class RunRecord(msgspec.Struct, kw_only=True):
    """What was run, with what, and what its recipe promised.

    Args:
        run: the run's id, which also labels its containers and networks.
        rumpus: version of the program.
        started: the time of the start, in UTC.
        argv: the command line, from the program's name on.
        workload: name of the workload, ``lock`` for example.
        recipe: name of the recipe within the workload.
        promises: what the recipe promised at the time of the run.
        line: where on the server its contenders queue, if the recipe has such a place.
        ensemble: ``docker`` or ``sim``; or ``services``, where the servers were the user's.
        nodes: how many servers.
        clients: how many clients.
        time_limit: seconds of load.
        nemesis: kinds of fault that could be chosen.
        nemesis_interval: seconds between two faults, on average.
        plan: the fault plan, as plain data; None when there is none.
        seed: decides every random choice.
        image: the servers' container image, None where there is none.
        strict: whether hazards fail the run.
        fencing: whether the witness checks fencing tokens.
        session_timeout: the session timeout that clients ask for, in seconds.
        tick_ms: the servers' ``tickTime``.
        servers: what else ZooKeeper's servers were told; None if that is not known, as of somebody
            else's image.
        options: what else was chosen: ``directed``, whether a fault plan was given;
            ``preemption``, the mode of a simulated run (``simulation.kernel.preemption``);
            ``system``, the servers if they are not ZooKeeper's, and ``service``, where these
            were the user's;
            ``kazoo``, the version or the directory that was asked for; ``server_mutant``, the
            mistake that its servers have (``simulation.zookeeper.mutants``); ``own_faults``, kinds
            of fault of other repositories and what they must have caused.
        clock_anchors: readings of both clocks, to convert the wall-clock milliseconds in servers'
            logs to the run's monotonic clock.
        versions: of the software that was used: ``python``, ``kazoo``, ``zookeeper`` ...
        interrupted: whether somebody ended the run before its time.
        digest: hash of everything that happened in a simulated run, the same for the same seed;
            None until it has ended, and on docker.
        virtual_seconds: how long a simulated run took on its own clock; None where digest is.
        format: version of this file's format.
    """

    format: int = FORMAT_VERSION
    run: str
    rumpus: str
    started: datetime
    argv: list[str]
    workload: str
    recipe: str
    promises: Promises
    line: Line | None = None
    ensemble: str
    nodes: _Count
    clients: _Count
    time_limit: _Seconds
    nemesis: list[str]
    nemesis_interval: _Seconds
    plan: Any = None
    seed: _Seed
    image: str | None = None
    strict: bool = False
    fencing: bool = False
    interrupted: bool = False
    digest: str | None = None
    virtual_seconds: _Seconds | None = None
    session_timeout: _Seconds
    tick_ms: _Milliseconds
    servers: ServerSettings | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    clock_anchors: list[ClockAnchor] = msgspec.field(default_factory=list)
    versions: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def system(self) -> str:
        """What the servers were (``harness.docker.systems``)."""
        return str(self.options.get("system", ZOOKEEPER))

    def wall_clock(self) -> WallClock:
        """The map from servers' wall-clock times to the run's monotonic clock.

        Raises:
            ValueError: the record has no clock anchor.
        """
        return WallClock((anchor.monotonic, anchor.wall) for anchor in self.clock_anchors)

    def first_record(self) -> FirstRecord:
        """The first record of the run's history, as it should be."""
        return FirstRecord(
            workload=self.workload,
            recipe=self.recipe,
            promises=self.promises,
            clients=self.clients,
            session_timeout=self.session_timeout,
            nemesis=self.nemesis,
            directed=bool(self.options.get("directed")),
            strict=self.strict,
        )

    def differences(self, said: FirstRecord) -> list[str]:
        """The fields in which the history's first record differs from this record."""
        here = self.first_record()
        return [
            name for name in here.__struct_fields__ if getattr(here, name) != getattr(said, name)
        ]

    def planned(self) -> list[dict[str, Any]]:
        """The well-formed entries of the fault plan; none if there is no plan."""
        entries = self.plan.get("entries") if isinstance(self.plan, dict) else None
        if not isinstance(entries, list):
            return []
        return [e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), int | str)]

    def command_line(self) -> str:
        """The command that repeats the run, or the check; quoted for a shell.

        For a run it names the seed, also where that was drawn. For a simulated run it names
        ``--ensemble sim`` and the mode of preemption, too, so that it repeats the run exactly on
        any machine.
        """
        # It begins with rumpus whatever the record says: an untrusted program must not be run.
        _, *arguments = self.argv or ["rumpus", "run", self.workload]
        if arguments[:1] == ["check"]:
            return in_shell(["rumpus", *arguments])
        if not any(word == "--seed" or word.startswith("--seed=") for word in arguments):
            arguments += ["--seed", str(self.seed)]
        pinned = {"--preemption": self.options.get("preemption")}
        if self.ensemble == "sim":
            pinned = {"--ensemble": "sim", **pinned}
        for option, value in pinned.items():
            if isinstance(value, str) and not _asks_for(arguments, option, value):
                arguments += [option, value]
        return in_shell(["rumpus", *arguments])


def write_record(path: Path, record: RunRecord) -> None:
    """Write ``test.json``, replacing an earlier one in a single step.

    Raises:
        StoreError: it cannot be written.
    """
    document = msgspec.json.encode(record, order="deterministic")
    write_atomically(path, msgspec.json.format(document, indent=2) + b"\n")


def read_record(path: Path) -> RunRecord:
    """Read ``test.json``.

    Raises:
        UnreadableRun: it is missing, malformed, or of a later format.
    """
    document = read_regular(path, "read the run's description", _LARGEST)
    try:
        version = msgspec.json.decode(document, type=_Version).format
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(path, error) from error
    if version > FORMAT_VERSION:
        raise UnreadableRun(
            path,
            f"its format {version} is later than {FORMAT_VERSION}, the latest known here",
            "read it with the newer rumpus that wrote it",
        )
    try:
        return msgspec.json.decode(document, type=RunRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(path, error) from error


def _asks_for(arguments: list[str], option: str, value: str) -> bool:
    return f"{option}={value}" in arguments or (option, value) in pairwise(arguments)


class _Version(msgspec.Struct):
    format: int


def _malformed(path: Path, error: Exception) -> UnreadableRun:
    return UnreadableRun(
        path,
        f"not a run's description ({error})",
        "name a directory that rumpus run has written, or mend the file",
    )
