"""Faults of processes: ``kill``, ``pause``, ``power-off``, ``client-pause``, ``client-kill``."""

import math
from abc import abstractmethod
from typing import ClassVar, Literal, Protocol

from rumpus.harness.ensemble import Ensemble
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Draft, Fault, Target, Target_contra, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault


class Processes(Protocol[Target_contra]):
    """The processes of servers (``Ensemble``) or of clients (``Clients``)."""

    def kill(self, target: Target_contra, /) -> None:
        """Kill a process with SIGKILL."""

    def restart(self, target: Target_contra, /) -> None:
        """Start a killed process again."""

    def pause(self, target: Target_contra, /) -> None:
        """Freeze a process."""

    def resume(self, target: Target_contra, /) -> None:
        """Unfreeze a process."""

    def state(self, target: Target_contra, /) -> str:
        """Return ``running``, ``paused``, ``dead`` or another state."""


class StoppedProcess(Fault[Target]):
    """A fault that stops processes."""

    stopped: ClassVar[Literal["paused", "dead"]]
    """The state in which it leaves them."""
    silent: ClassVar[str] = ""
    """What ``condition`` adds to the state of a process that is stopped."""

    @property
    @abstractmethod
    def processes(self) -> Processes[Target]:
        """The processes of all servers or of all clients."""

    def inject(self) -> None:
        """Stop the chosen processes one after the other."""
        for target in self.chosen:
            if self.processes.state(target) != self.stopped:
                self.stop(target)

    def stop(self, target: Target) -> None:
        """Stop a target's process."""
        if self.stopped == "paused":
            self.processes.pause(target)
        else:
            self.processes.kill(target)

    def condition(self, target: Target) -> str:
        """The state of a target's process."""
        return self.processes.state(target)

    def in_force(self) -> Finding:
        """Wait until all are seen to be stopped."""
        wanted = self.stopped + self.silent
        return self.wait_until_all(self.condition, wanted, wanted)

    def heal(self) -> None:
        """Resume or restart the chosen processes that are stopped."""
        for target in self.chosen:
            self.set_going(target, self.processes.state(target))

    def set_going(self, target: Target, state: str) -> None:
        """Resume or restart a process that is in this state."""
        if state == "paused":
            self.processes.resume(target)
        elif state == "dead":
            self.processes.restart(target)


class ServerProcess(StoppedProcess[str], ServerFault):
    """A fault that stops server processes. While it is in force they do not serve."""

    works_on = "server processes"
    silent = " and not serving"

    @property
    def processes(self) -> Processes[str]:
        """The servers."""
        return self.context.ensemble

    def condition(self, target: str) -> str:
        """The state of a server, and whether it answers as part of a quorum."""
        serves = self.context.ensemble.serves(target)
        return super().condition(target) + (" and serving" if serves else self.silent)

    def set_going(self, target: str, state: str) -> None:
        """Resume or restart a server, unless somebody else has stopped it in another way."""
        if state == self.stopped:
            super().set_going(target, state)


class Kill(ServerProcess):
    """Kill servers."""

    kind = "kill"
    summary = "servers are killed with SIGKILL and restarted on their disks"
    needs = "kill"
    causes = "leader change"
    stopped = "dead"


class Pause(ServerProcess):
    """Freeze servers."""

    kind = "pause"
    summary = "server processes are frozen and resumed"
    needs = "pause"
    stopped = "paused"

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Pause a leader until it is replaced: its connections stay open, so that takes time."""
        draft = super().draw(turn)
        return draft._replace(deposes=draft.targets.role == "leader")


class PowerOff(ServerProcess):
    """Cut the power of servers' machines."""

    kind = "power-off"
    summary = "servers' machines lose power: writes that were not synced may be lost or torn"
    needs = "disk-journal"
    usual = False
    stopped = "dead"

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Have disks made of which it is known what was not synced."""
        del entry
        if ensemble.disks is not None:
            ensemble.disks.prepare(None)

    def stop(self, target: str) -> None:
        """Cut the power of a server's machine."""
        self.context.disks.power_off(target)


class ClientProcess(StoppedProcess[int], ClientFault):
    """A fault that stops client processes."""

    works_on = "client processes"
    causes = "expiry"
    stays_frozen = True

    @property
    def processes(self) -> Processes[int]:
        """The clients."""
        return self.context.clients

    def set_going(self, target: int, state: str) -> None:
        """Resume or restart a client.

        In a punctual plan nobody waits until it is open: that may take until another fault, which
        is due to be healed, is healed.
        """
        if state == "dead":
            self.context.clients.restart(target, wait=self.context.latest == math.inf)
        else:
            super().set_going(target, state)


class ClientPause(ClientProcess):
    """Freeze clients; they do not notice how much time has passed."""

    kind = "client-pause"
    summary = "client processes are frozen and resumed"
    stopped = "paused"


class ClientKill(ClientProcess):
    """Kill clients; their sessions linger until they expire."""

    kind = "client-kill"
    summary = "client processes are killed with SIGKILL and restarted"
    stopped = "dead"
