"""Reads a run's directory: everything that a verdict rests on, and what of it cannot be read."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from rumpus.checker.history import History
from rumpus.checker.servers.node_files import MOST_LOGGED, NodeFiles, read_node_directory
from rumpus.checker.servers.server_truth import TRUE_TIMES, ServerTruth, merge
from rumpus.checker.servers.txnlog import Known
from rumpus.checker.timeline.lease_view import lease_view
from rumpus.checker.timeline.ownership import ServerView
from rumpus.checker.untrusted_file import in_utf8
from rumpus.checker.wire.records import MalformedWire, WireRecords
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.recipes.servers import SERVICES, ZOOKEEPER
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import read_lines, read_regular
from rumpus.runs.option import checked
from rumpus.runs.run_settings import OPTIONS
from rumpus.usage_error import UsageError

if TYPE_CHECKING:
    from rumpus.checker.servers.lease_log import Lease

_RANGED = ("nodes", "clients", "time_limit", "seed", "session_timeout")
"""Options that ``test.json`` has under their names."""

_LARGEST_WIRE = 1 << 30  # bytes: some millions of requests
_LARGEST_TIMES = 64 << 20  # bytes: more than a million transactions
_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class RunFiles(NamedTuple):
    """What lies in a run's directory.

    Attributes:
        directory: where it was read.
        record: what was run.
        history: what happened.
        changed: files that were changed since the run was sealed; None without a seal.
        truth: what the logs of ZooKeeper's servers say; None if they are not at hand.
        leases: the same of other systems' servers.
        unread: what could not be read of the servers' files, in words.
        servers: how many servers there are files of.
        wire: what passed between clients and servers; empty if it was not recorded.
    """

    directory: RunDirectory
    record: RunRecord
    history: History
    changed: list[str] | None = None
    truth: ServerTruth | None = None
    leases: ServerView | None = None
    unread: Sequence[str] = ()
    servers: int = 0
    wire: WireRecords = WireRecords()


def read_run(run: RunDirectory) -> RunFiles:
    """Read a run.

    Without an intact seal the servers' files may be another run's, and are not read. Sealed ones
    are read before the history: the memory that this takes, beside the result, is free again by
    then.

    Raises:
        UnreadableRun: something is missing or malformed.
    """
    changed = run.changes()
    record = run.read_record()
    _check_options(run, record)
    _check_system(run, record)
    truth, leases = None, None
    wire = WireRecords()
    unread: list[str] = []
    if changed == [] and record.system == ZOOKEEPER:
        truth, unread = server_truth(run, record.nodes)
        wire = read_wire(run)
    elif changed == []:
        leases, unread = _server_leases(run, record)
    servers = sum(directory.is_dir() for directory in run.nodes.glob("*/"))
    history = run.read_history()
    return RunFiles(run, record, history, changed, truth, leases, unread, servers, wire)


def read_wire(run: RunDirectory) -> WireRecords:
    """What passed on the links; empty for a run that did not record it.

    Raises:
        UnreadableRun: it cannot be read.
    """
    if not run.wire.exists():
        return WireRecords()
    content = read_lines(run.wire, "read what passed on the links", _LARGEST_WIRE)
    try:
        return WireRecords(content)
    except MalformedWire as error:
        raise UnreadableRun(run.wire, str(error), "restore what the run wrote") from error


def _check_options(run: RunDirectory, record: RunRecord) -> None:
    """Refuse a description with a value that no run can have.

    Raises:
        UnreadableRun: the message names the option, and what it may have.
    """
    try:
        checked({name: getattr(record, name) for name in _RANGED}, OPTIONS, spelled="{0.spelled}")
    except UsageError as error:
        raise UnreadableRun(
            run.record, f"not a run's description ({error})", "restore what the run wrote"
        ) from error


def _check_system(run: RunDirectory, record: RunRecord) -> None:
    """Refuse a run on servers that it cannot have had: their files would not be looked at.

    Raises:
        UnreadableRun: the message says why not.
    """
    system, ensemble = record.system, record.ensemble
    if system not in (ZOOKEEPER, SERVICES, *SYSTEMS):
        why = f"it knows no servers of the system {system!r}"
    elif system != ZOOKEEPER and ensemble == "sim":
        why = f"simulated servers are ZooKeeper's, not those of {system}"
    elif (system == SERVICES) != (ensemble == SERVICES):
        why = f"a run on {system} is not one on {ensemble}"
    elif system == SERVICES and any(run.nodes.glob("*/")):
        why = "services have no files here, and there are some of servers"
    else:
        return
    raise UnreadableRun(
        run.record, f"not a run's description ({why})", "restore what the run wrote"
    )


def server_truth(run: RunDirectory, nodes: int) -> tuple[ServerTruth | None, list[str]]:
    """What the gathered logs of the servers say, and in words what could not be read.

    Raises:
        UnreadableRun: the true times of the transactions cannot be read.
    """
    files: dict[str, NodeFiles] = {}
    unread = []
    known = Known()
    room = MOST_LOGGED
    for directory in sorted(run.nodes.glob("*/")):
        name = in_utf8(Path(directory.name))
        try:
            files[name] = read_node_directory(directory, known, room)
        except (ValueError, OSError) as error:
            unread.append(f"the logs of {name} cannot be read: {error}")
        else:
            room -= sum(log.offset for log in files[name].logs)
            unread += [f"a log of {name} cannot be read: {why}" for why in files[name].broken]
    del known  # only needed while reading; it takes much memory
    if not any(node.logs for node in files.values()):
        return None, unread
    return merge(files, nodes, _true_times(run.nodes / TRUE_TIMES)), unread


def _true_times(path: Path) -> dict[int, int] | None:
    """The true times of transactions, where the servers' clocks were set wrong on purpose.

    Raises:
        UnreadableRun: they cannot be read.
    """
    if not path.exists():
        return None
    document = read_regular(path, "read the true times", _LARGEST_TIMES)
    try:
        return msgspec.json.decode(document, type=dict[int, _Milliseconds])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRun(
            path, f"no times of transactions ({error})", "restore what the run wrote"
        ) from error


def _server_leases(run: RunDirectory, record: RunRecord) -> tuple[ServerView | None, list[str]]:
    """When grants began and ended by the servers' logs; None if these are not at hand.

    Also what cannot be read, in words.
    """
    system = SYSTEMS.get(record.system)
    log = None if system is None else system.server(record.tick_ms).lease_log
    if system is None or log is None or not record.clock_anchors:
        return None, []
    servers: list[Sequence[Lease]] = []
    unread = []
    for directory in sorted(run.nodes.glob("*/")):
        try:
            servers.append(log.read(directory / log.place))
        except (ValueError, OSError) as error:
            unread.append(
                f"{Path(log.place).name} of {in_utf8(Path(directory.name))} cannot be read: {error}"
            )
    if not servers:
        return None, unread
    if not unread and len(servers) < record.nodes:
        unread.append(f"the files of {record.nodes - len(servers)} servers are not there")
    # Servers that know nothing of each other grant by majority; of others, any one may tell first.
    quorum = record.nodes // 2 + 1 if system.independent else 1
    if log.everywhere:
        quorum = record.nodes
    return lease_view(servers, record.wall_clock(), quorum=quorum), unread
