"""Names of processes that no other process ever has, and whether they still run.

What is made for a process bears its name: containers as a label, temporary directories as a part
of theirs. So what a killed one left can be told from what a living one uses, even if another
process has the same PID by now.
"""

import os
from pathlib import Path
from typing import NamedTuple, Self


class Owner(NamedTuple):
    """A process, by its host's boot id, its PID namespace, its PID and its start time."""

    boot: str
    namespace: str
    pid: int
    start: int
    """In clock ticks since boot."""

    @classmethod
    def of(cls, pid: int | None = None) -> Self:
        """A process; this one by default.

        Raises:
            ProcessLookupError: there is no such process.
        """
        pid = os.getpid() if pid is None else pid
        start = _start_of(pid)
        if start is None:
            raise ProcessLookupError(f"no process {pid}")
        return cls(boot_id(), _pid_namespace(), pid, start)

    def lives(self) -> bool:
        """Whether it runs; true too if that cannot be known from here."""
        if not boot_id().startswith(self.boot) or self.namespace != _pid_namespace():
            return True
        return _start_of(self.pid) == self.start

    def __str__(self) -> str:
        return " ".join(map(str, self))


def boot_id() -> str:
    """Which start of which host this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink()).partition("[")[2].rstrip("]")


def _start_of(pid: int) -> int | None:
    """When a process started; None if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name is in brackets and may contain any characters, even brackets.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
