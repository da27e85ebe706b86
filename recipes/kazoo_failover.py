"""The database of ``recipes.failover`` with kazoo's own Election appointing its primary."""

from typing import ClassVar

from rumpus.recipes.election import ContestElection
from rumpus.recipes.failover import FailoverDatabase
from rumpus.recipes.kazoo_election import KazooElection


class KazooElectionDatabase(FailoverDatabase):
    """kazoo appoints; the members' majority still decides whose writes count."""

    election: ClassVar[type[ContestElection]] = KazooElection
