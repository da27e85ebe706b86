"""The files of the dynamic configuration: ``zoo.cfg.dynamic.<hex>`` and ``.next``.

The configuration in force is in ``zoo.cfg.dynamic.<version in hex>``, a line for each server. The
one that was proposed last, if not known to be committed, is in ``zoo.cfg.dynamic.next``, with its
version. ZooKeeper's ``zoo.cfg`` names the file in force; here it is the one of the highest version.

Source: ``QuorumPeer.setQuorumVerifier``, ``setLastSeenQuorumVerifier`` and ``QuorumPeerConfig`` of
ZooKeeper 3.8.0. There, the writing thread waits for the disk, and an error is only logged.
"""

from collections import deque
from collections.abc import Callable

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.quorum.reconfiguration import parse_members
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.atomic_file import TEMPORARY, replace_file
from rumpus.simulation.zookeeper.wire.error_codes import Refusal

PREFIX = "zoo.cfg.dynamic."
NEXT = PREFIX + "next"

Done = Callable[[OSError | None], None]


class ConfigurationFiles:
    """Reads the configurations when a server starts, and writes new ones, one after the other."""

    __slots__ = ("_disk", "_waiting", "_writing")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._waiting: deque[tuple[QuorumVerifier, bool, Process, Done]] = deque()
        self._writing = False

    def load(self, static: QuorumVerifier) -> tuple[QuorumVerifier, QuorumVerifier]:
        """Read what was written last.

        Args:
            static: the configuration of ``zoo.cfg``, used if no newer one was written.

        Returns:
            the configuration in force; the one that was seen last, which may be the same.

        Raises:
            StartupRefused: a file cannot be parsed.
        """
        current = static
        for path in self._disk.list(PREFIX):
            if path == NEXT or path.endswith(TEMPORARY):
                continue
            version = _number(path.removeprefix(PREFIX), path)
            if version > current.version:
                current = QuorumVerifier(self._members(path), version)
        if not self._disk.exists(NEXT):
            return current, current
        version_line = self._disk.read(NEXT).decode().rpartition("\n")[2]
        following = QuorumVerifier(
            self._members(NEXT), _number(version_line.removeprefix("version="), NEXT)
        )
        return current, following if following.version > current.version else current

    def write_next(self, verifier: QuorumVerifier, process: Process, done: Done) -> None:
        """Write a proposed configuration; ``done`` is called once it is safe on the disk."""
        self._write(verifier, True, process, done)

    def write_current(self, verifier: QuorumVerifier, process: Process, done: Done) -> None:
        """Write the configuration in force; delete ``.next`` if it is the same or an older one."""
        self._write(verifier, False, process, done)

    def _members(self, path: str) -> tuple[Member, ...]:
        try:
            return parse_members(self._disk.read(path).decode())
        except (Refusal, UnicodeDecodeError) as error:
            raise StartupRefused(f"{path} is no list of servers") from error

    def _write(
        self,
        verifier: QuorumVerifier,
        proposed: bool,
        process: Process,
        done: Done,
    ) -> None:
        self._waiting.append((verifier, proposed, process, done))
        self._go_on()

    def _go_on(self) -> None:
        if self._writing or not self._waiting:
            return
        self._writing = True
        verifier, proposed, process, done = self._waiting.popleft()
        text = verifier.text()
        path = NEXT
        if not proposed:
            path = f"{PREFIX}{verifier.version:x}"
            text = text.rpartition("\n")[0]

        def written(error: OSError | None) -> None:
            self._writing = False
            failure = error
            if failure is None and not proposed:
                failure = self._forget_next(verifier.version)
            done(failure)
            self._go_on()

        replace_file(self._disk, path, text.encode(), process, written)

    def _forget_next(self, version: int) -> OSError | None:
        if not self._disk.exists(NEXT):
            return None
        line = self._disk.read(NEXT).decode().rpartition("=")[2]
        if _number(line, NEXT) > version:
            return None
        try:
            self._disk.delete(NEXT)
        except OSError as error:
            return error
        return None


def _number(text: str, path: str) -> int:
    try:
        return int(text, 16)
    except ValueError as error:
        raise StartupRefused(f"{path} tells no version") from error
