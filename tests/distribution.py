"""Which tests run in one process, one after the other (pytest-xdist).

Tests on real servers wait most of the time, and all that use the shared ensemble have to run in
one process. So they make two units, which take two processes while the others compute: the
folders of `OWN_SERVERS`, whose tests start servers of their own, and all the rest. Of all other
tests a file is a unit: its tests share what they test.
"""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[1]
OWN_SERVERS = ("conformance", "recount", "rumpus", "simulation")


def unit(nodeid):
    """The name of the unit that a test belongs to."""
    file = nodeid.partition("::")[0]
    if "[sim" in nodeid or ("[docker" not in nodeid and not _is_marked(file)):
        return file
    return "servers of their own" if Path(file).parts[1] in OWN_SERVERS else "shared servers"


@cache
def _is_marked(file):
    return "mark.docker" in (ROOT / file).read_text()


class Distribution(LoadScopeScheduling):
    def _split_scope(self, nodeid):
        return unit(nodeid)
