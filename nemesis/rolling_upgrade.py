"""The fault ``rolling-upgrade``: the servers get another version, one after the other, under load.

As ZooKeeper's operators do it: a server is stopped and started again as the other version on the
same disk, and the next one follows only when it serves again. Followers go first and the leader
goes last, so the leadership changes once. The servers are stopped by SIGKILL. While the upgrade is
under way, two versions form one ensemble. An older version makes it a rolling downgrade.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rumpus.harness.ensemble import Ensemble
from rumpus.harness.upgrades import Upgrades
from rumpus.harness.zookeeper_versions import UnknownVersion, find_version
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import Draft, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import Targets

SERVE_BOUND = 20.0
"""Seconds within which an upgraded server must serve; else the upgrade stops there."""


class RollingUpgradeOptions(FaultOptions, frozen=True):
    """``to``: the version, or the beginning of its number: the newest that fits."""

    to: str = "3.9"

    def check(self, nodes: Sequence[str]) -> None:
        """Refuse versions that are not known."""
        del nodes
        try:
            find_version(self.to)
        except UnknownVersion as unknown:
            raise PlanError(f'field "options.to": {unknown}') from unknown


class RollingUpgrade(ServerFault):
    """Start servers again as another version, one after the other."""

    kind = "rolling-upgrade"
    summary = (
        "servers are killed and started again as another version of ZooKeeper, one after the "
        "other, the leader last; they keep it"
    )
    works_on = "server processes"
    alone = "a rolling upgrade waits until each server serves again"
    needs = "upgrade"
    usual = False
    drawn = False
    several_nodes = "a single server leaves none that serves while it is upgraded"
    causes = "leader change"
    takes = RollingUpgradeOptions

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._to = find_version(self.options.to)

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw all servers."""
        del turn
        return Draft(Targets(role="all"))

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Make the other version's image: that takes a minute, too long for a run."""
        options = cls.read_options(entry)
        assert isinstance(options, RollingUpgradeOptions)
        if ensemble.upgrades is not None:
            ensemble.upgrades.fetch(find_version(options.to))

    @property
    def upgrades(self) -> Upgrades:
        """The servers' versions, which can be changed (``registry.require`` made sure of that)."""
        assert self.context.ensemble.upgrades is not None
        return self.context.ensemble.upgrades

    def inject(self) -> None:
        """Upgrade the chosen servers; stop at one that does not serve again, or if the run ends."""
        ensemble = self.context.ensemble
        waiting = list(self.chosen)
        while waiting and not self.context.hurried():
            leads = ensemble.leader()
            node = next((each for each in waiting if each != leads), waiting[0])
            waiting.remove(node)
            ensemble.kill(node)
            self.upgrades.upgrade(node, self._to)
            if not self.context.until(partial(self._is_upgraded, node), SERVE_BOUND):
                return

    def _is_upgraded(self, node: str) -> bool:
        return self.upgrades.version(node) == self._to and self.context.ensemble.serves(node)

    def in_force(self) -> Finding:
        """Wait until each says that it has the other version."""
        return self.wait_until_all(self.upgrades.version, self._to, f"all are {self._to}")

    def heal(self) -> None:
        """Start what an upgrade that failed half-way has left dead. No version is taken back."""
        for node in self.chosen:
            if self.context.ensemble.state(node) == "dead":
                self.context.ensemble.restart(node)

    def record(self) -> dict[str, Any]:
        """Which version it is."""
        return {"how": f"to {self._to}"}
