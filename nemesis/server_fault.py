"""Faults of servers: how their targets are checked, drawn and chosen."""

from collections.abc import Sequence

from rumpus.nemesis.entry import PlanError, check_names, one_of
from rumpus.nemesis.fault import Draft, Fault, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.grudges import minority
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.targets import SERVER_ROLES, Targets, choose_servers


class ServerFault(Fault[str]):
    """A fault of servers, chosen by name or by role.

    By default the first fault of a kind in a random plan affects the leader.
    """

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a role; ``minority`` only if a server can be lost."""
        if turn.first:
            return Draft(Targets(role="leader"))
        if minority(turn.nodes):
            return Draft(
                Targets(role=turn.rng.choice(("one", "leader", "holder-server", "minority")))
            )
        return Draft(Targets(role=turn.rng.choice(("leader", "one"))))

    @classmethod
    def check_targets(cls, targets: Targets, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Refuse names and roles that do not exist."""
        del clients
        if targets.of is not None:
            return
        if targets.names is not None:
            check_names("targets.names", targets.servers(), nodes)
            return
        one_of("targets.role", targets.role, SERVER_ROLES)
        if targets.role == "minority" and not minority(len(nodes)):
            raise PlanError(
                f'field "targets.role" is "minority", but of {len(nodes)} servers none can be lost'
            )
        if targets.role in {"follower", "followers"} and len(nodes) < 2:
            raise PlanError(
                f'field "targets.role" is "{targets.role}", but a single server has none'
            )

    @property
    def targets(self) -> list[str]:
        """The servers chosen."""
        return list(self.chosen)

    def choose(self) -> None:
        """Choose among the servers that run."""
        self.chosen, self.reason = choose_servers(self.entry.targets, self.context, self.rng)

    def healed(self, timeout: float) -> Finding:
        """Wait until the chosen servers run and serve again."""
        return servers_back(self.chosen, self.context, timeout)
