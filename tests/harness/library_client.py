"""A workload's client that tells which kazoo its process has loaded."""

import sys

import kazoo.exceptions
from kazoo.client import KazooClient
from kazoo.version import __version__

from rumpus.harness.clients.client_body import Outcome
from rumpus.recipes.requests import session


class LibraryClient:
    grants = ends = ""

    def believes(self):
        return False

    def close(self):
        """Nothing goes on in the background."""

    def invoke(self, f, value):
        assert f == "look", value
        found = {
            "version": __version__,
            "files": sorted(
                module.__file__
                for name, module in sys.modules.items()
                if name.partition(".")[0] == "kazoo"
            ),
            "marks": [
                getattr(kazoo.exceptions, "MARK", None),
                getattr(KazooClient, "MARK", None),
                getattr(session.SessionExpiredError, "MARK", None),
            ],
        }
        return Outcome("ok", found)


def build():
    return lambda _context: LibraryClient()
