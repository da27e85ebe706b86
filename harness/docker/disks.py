"""Disks of ZooKeeper's servers in containers that can be full or slow, lie, or lose power.

Only runs whose plan has such a fault have what it needs. The node's sidecar has the server's
volumes, too, so that all of this works while the server is dead.

**Full.** The server's transaction log is in a volume in memory, of a bounded size, which is filled.
A log in memory is never slow.

**Slow, lying, without power.** A library is preloaded into the server
(``docker/zookeeper/disk.c``). It notes what is changed and what is synced. When the power fails the
server is killed, and what it had not synced is taken away from its files
(`harness.docker.unsynced`). A mere kill takes nothing.
"""

import io
import logging
import tarfile
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from random import Random
from typing import Final

from docker.types import DriverConfig

from rumpus.harness.damage import Damage, damaged
from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.docker.unsynced import Files, after_power_failure, differences, steps
from rumpus.harness.ensemble import DiskTrouble, EnvironmentRefusal

log = logging.getLogger(__name__)

BYTES: Final = 128 << 20
"""How much fits: a run's logs take a tenth of it, and what fills it takes the host's memory."""
SLOW_US: Final = 50_000
"""Microseconds that an fsync takes longer on a slow disk."""
IN_MEMORY: Final = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": f"size={BYTES}"})

_FILL: Final = "cat /dev/zero > {log}/.filler 2>/dev/null; true"
_LOOK: Final = (
    "if echo x > {log}/.probe 2>/dev/null; then echo room; else echo full; fi; rm -f {log}/.probe"
)
_EMPTY: Final = "rm -f {log}/.filler {log}/.probe"

_NOTES: Final = "/disk"
"""Where the library has its journal and is told what is wrong."""
_LIBRARY: Final = "/usr/local/lib/disk.so"
_BEGIN: Final = f"chmod 1777 {_NOTES}"
_TELL: Final = f"printf %s '{{}}' > {_NOTES}/trouble"
# A sync by the library, with its own journal: in microseconds, whether it noted anything, and what
# the library was told.
_TRY: Final = (
    "mkdir -p /tmp/tried/files; cd /tmp/tried; : > files/file; rm -f journal trouble; "
    f"cp {_NOTES}/trouble . 2>/dev/null; began=$(date +%s%N); "
    f"RUMPUS_DISK=/tmp/tried RUMPUS_DISK_ROOTS=/tmp/tried/files LD_PRELOAD={_LIBRARY} "
    "dd if=/dev/null of=files/file conv=fsync,notrunc status=none 2>&1 || echo failed; "
    "echo $(( ($(date +%s%N) - began) / 1000 )) $(stat -c %s journal 2>/dev/null || echo 0) "
    "$(cat trouble 2>/dev/null)"
)
_STATE: Final = "stat -c '%i %u %g %n' {} 2>/dev/null; echo uptime $(cut -d' ' -f1 /proc/uptime)"


class ContainerDisks:
    """Implements ``harness.ensemble.Disks``.

    Args:
        nodes: the ensemble's nodes, by name; none before it starts.
        data: where servers have snapshots and epochs.
        log: where they have their transaction logs.
    """

    def __init__(self, nodes: Callable[[], Mapping[str, DockerNode]], data: str, log: str) -> None:
        self._nodes = nodes
        self._data, self._log = data, log
        self._full = self._journaled = False
        self._failures = 0

    def prepare(self, trouble: DiskTrouble | None) -> None:
        """Have volumes made that can be filled, or have what is written noted."""
        if trouble == "full":
            self._full = True
        else:
            self._journaled = True

    @property
    def volumes(self) -> dict[str, DriverConfig | None]:
        """Path in the server -> what makes the volume there, for volumes that the sidecar has."""
        places = (self._data, self._log, _NOTES) if self._journaled else ()
        found: dict[str, DriverConfig | None] = dict.fromkeys(places)
        return found | ({self._log: IN_MEMORY} if self._full else {})

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the server."""
        if not self._journaled:
            return {}
        return {
            "LD_PRELOAD": _LIBRARY,
            "RUMPUS_DISK": _NOTES,
            "RUMPUS_DISK_ROOTS": ":".join(self._folders),
        }

    @property
    def _folders(self) -> list[str]:
        return [f"{place}/version-2" for place in (self._data, self._log)]

    def begin(self, node: str) -> None:
        """Make a node's volumes ready, before its server starts."""
        if self._journaled:
            self._run(node, _BEGIN)

    def settle(self, node: str) -> None:
        """Take all that is on a disk for safe: machines do not lose power right after they are new.

        ZooKeeper does not sync its first snapshot, and does not start without it.

        Raises:
            EnvironmentRefusal: the node cannot be reached.
        """
        if self._journaled:
            self._run(node, f": > {_NOTES}/journal")

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Give a disk this trouble.

        Raises:
            ValueError: nobody has prepared for it.
            EnvironmentRefusal: the node cannot be reached.
        """
        if not (self._full if trouble == "full" else self._journaled):
            raise ValueError(f"no disk was made here that can be {trouble}")
        if trouble == "full":
            self._run(node, _FILL)
        else:
            self._run(node, _TELL.format(f"slow {SLOW_US}" if trouble == "slow" else trouble))

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """What is wrong with a disk now, as a try to write there, or to sync, shows."""
        if self._nodes()[node].state() in ("removed", "unplugged"):
            return None
        if self._full and "full" in self._run(node, _LOOK):
            return "full"
        if self._journaled:
            *failed, last = self._run(node, _TRY).splitlines()
            took, noted, *told = last.split()
            if failed:
                return "failing"
            if noted == "0":
                return "lying"
            if told[:1] == ["slow"] and int(took) > SLOW_US:  # on a busy host it takes long, too
                return "slow"
        return None

    def mend_disk(self, node: str) -> None:
        """End a disk's trouble."""
        if self._full:
            self._run(node, _EMPTY)
        if self._journaled:
            self._run(node, _TELL.format(""))

    def power_off(self, node: str) -> None:
        """Kill a server, and take away from its files what it had not synced.

        Raises:
            EnvironmentRefusal: the node cannot be reached.
        """
        found = self._nodes()[node]
        found.kill()
        *entries, last = self._run(node, _STATE.format(self._patterns)).splitlines()
        content = self._contents(node)
        inodes = {path: int(inode) for inode, _, _, path in map(_split, entries)}
        files = Files(inodes, {inodes[path]: data for path, data in content.items()})
        journal = found.read_folder(PurePosixPath(_NOTES)).get("journal", b"")
        now = int(float(last.split()[1]) * 1e9)
        self._failures += 1
        random = Random(f"{node} {self._failures}")
        lost = after_power_failure(files, steps(journal), now, random)
        changes = differences(content, lost.files.by_path())
        self._change(node, changes)
        log.info(
            "%s lost power: %d writes and %d changes of names are gone, of %d files",
            *(node, lost.writes, lost.names, len(changes)),
        )

    def damage(self, node: str, damage: Damage, random: Random) -> str:
        """Kill a server, and damage its files; what was done to them, in words.

        Raises:
            EnvironmentRefusal: the node cannot be reached.
        """
        self._nodes()[node].kill()
        found = damaged(self._contents(node), damage, random)
        self._change(node, found.changes)
        return found.words

    def _contents(self, node: str) -> dict[str, bytes]:
        """Path -> content of a dead server's files."""
        return {
            f"{folder}/{name}": data
            for folder in self._folders
            for name, data in self._nodes()[node].read_folder(PurePosixPath(folder)).items()
        }

    def _change(self, node: str, changes: Mapping[str, bytes | None]) -> None:
        """Change a dead server's files, for ever: nothing of them is unsynced."""
        entries = self._run(node, _STATE.format(self._patterns)).splitlines()[:-1]
        owners = {path: (int(user), int(group)) for _, user, group, path in map(_split, entries)}
        owner = next(iter(owners.values()), (0, 0))
        gone = [path for path, data in changes.items() if data is None]
        if written := {path: data for path, data in changes.items() if data is not None}:
            self._nodes()[node].write_files(_archive(written, owners, owner))
        self._run(node, " ".join(["rm", "-f", f"{_NOTES}/journal", *gone]))

    @property
    def _patterns(self) -> str:
        return " ".join(f"{folder}/*" for folder in self._folders)

    def _run(self, node: str, script: str) -> str:
        code, said = self._nodes()[node].run_in_network(script.replace("{log}", self._log))
        if code:
            raise EnvironmentRefusal(f"the disk of {node} cannot be reached: {said.strip()}")
        return said


def _split(entry: str) -> list[str]:
    """Inode, user, group and path, as `stat` prints them."""
    return entry.split(" ", 3)


def _archive(
    files: Mapping[str, bytes], owners: Mapping[str, tuple[int, int]], owner: tuple[int, int]
) -> bytes:
    """The files as a tar archive.

    Args:
        files: path -> content.
        owners: path -> user and group, of those that were there.
        owner: of the others.
    """
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(data), 0o644
            member.uid, member.gid = owners.get(path, owner)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()
