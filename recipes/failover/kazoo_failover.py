"""The database of ``database`` with kazoo's own Election appointing its primary."""

from typing import ClassVar

from rumpus.recipes.election.contest_election import ContestElection
from rumpus.recipes.election.kazoo_election import KazooElection
from rumpus.recipes.failover.database import FailoverDatabase


class KazooElectionDatabase(FailoverDatabase):
    """kazoo appoints; the members' majority still decides whose writes count."""

    election: ClassVar[type[ContestElection]] = KazooElection
