"""Servers that do not keep to what their settings say."""

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.outstanding_changes import Record
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.tree import access_control
from rumpus.simulation.zookeeper.wire import permissions
from rumpus.simulation.zookeeper.wire.paths import CONFIG

ADMINISTRATOR = "ZooKeeper Administrator's Guide, "
"""How ``source`` begins if it is a section of the Administrator's Guide."""


class GrantsAnyTimeout(ClientConnection):
    """A session gets the timeout that its client asks for, if that is a time at all."""

    def _granted(self, timeout: int) -> int:
        return max(timeout, 1)


class ReadsAnyLength(ClientConnection):
    """A request may have any length."""

    def _longest_request(self) -> int:
        return 0x7FFFFFFF


class ReadsHalfTheLength(ClientConnection):
    """The server hangs up on requests beyond half of ``jute.maxbuffer``."""

    def _longest_request(self) -> int:
        return super()._longest_request() // 2


class LetsAllReconfigure(Preparer):
    """A reconfig is carried out though it is disabled, whoever asks for it."""

    def _may_reconfigure(self) -> bool:
        return True

    def _check_permission(self, node: Record, wanted: int) -> None:
        of_members = node is self.changes.record(CONFIG) and wanted == permissions.WRITE
        if not of_members:
            access_control.check(node.acl, wanted, self._identities)


MUTANTS = (
    ServerMutant(
        "unbounded-timeouts",
        "grant a session whatever timeout its client asks for",
        ADMINISTRATOR + "Advanced Configuration: minSessionTimeout, maxSessionTimeout",
        "ephemeral",
        "ephemeral",
        frozenset({"wrong-answer"}),
        {ClientConnection: GrantsAnyTimeout},
    ),
    ServerMutant(
        "requests-of-any-length",
        "carry out requests that are longer than jute.maxbuffer",
        ADMINISTRATOR + "Unsafe Options: jute.maxbuffer, the maximum size of the data in a znode",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {ClientConnection: ReadsAnyLength},
    ),
    ServerMutant(
        "half-the-length",
        "hang up on requests that are longer than half of jute.maxbuffer",
        GUIDE + "Data Access: the ZooKeeper client and server ensure less than 1M of data",
        "znode",
        "guarded",
        frozenset({"wrong-answer"}),
        {ClientConnection: ReadsHalfTheLength},
    ),
    ServerMutant(
        "open-reconfig",
        "carry out a reconfig for every client, although it is disabled",
        ADMINISTRATOR + "Advanced Configuration: reconfigEnabled, by default false",
        "znode",
        "guarded",
        frozenset({"illegal-change"}),
        {Preparer: LetsAllReconfigure},
    ),
)
