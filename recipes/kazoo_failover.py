"""The database of ``recipes.failover`` with kazoo's own Election appointing its primary."""

from typing import ClassVar

from recipes.election import ContestElection
from recipes.failover import FailoverDatabase
from recipes.kazoo_election import KazooElection


class KazooElectionDatabase(FailoverDatabase):
    """kazoo appoints; the members' majority still decides whose writes count."""

    election: ClassVar[type[ContestElection]] = KazooElection
