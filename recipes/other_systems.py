"""Entries of recipes for servers that are not ZooKeeper's, or for clients not in Python.

Their modules need libraries that not everybody has, so they are imported when they are used.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from rumpus.recipes.outcomes import NotDone


class MissingLibrary(NotDone):
    """The library by which a recipe speaks to its servers is not installed."""


@dataclass(frozen=True)
class OtherSystemEntry:
    """A recipe of another system, or one of ZooKeeper whose clients are not written in Python.

    Args:
        place: ``module:class``; the module is one of ``rumpus.recipes``.
        system: what servers it needs, a name of ``harness.docker.systems``.
        library: the module by which it speaks to them, empty if none is needed here; also the
            name of the extra by which rumpus installs it, unless ``extra`` is given.
        mistake: a mutant's known mistake, in words; empty for a recipe without one.
        expected: the kinds of anomaly by which the checker detects the mistake.
        extra: the extra (``rumpus[extra]``).
        weakness: why a recipe that is no mutant cannot keep what it promises; empty if it can.
        client_image: the folder of ``docker/`` with the image of its clients; empty if they are
            processes of Python.
    """

    place: str
    system: str
    library: str
    mistake: str = ""
    expected: frozenset[str] = frozenset()
    extra: str = ""
    weakness: str = ""
    client_image: str = ""

    @property
    def faulty(self) -> bool:
        """Whether it is a mutant."""
        return bool(self.mistake)

    @property
    def missing(self) -> str:
        """What has to be installed before it can be used, in words; empty if nothing."""
        if not self.library or find_spec(self.library) is not None:
            return ""
        return (
            f"needs the Python package {self.library}: pip install "
            f"'rumpus[{self.extra or self.library}]'"
        )

    def load(self) -> type[Any]:
        """The recipe's class.

        Raises:
            MissingLibrary: its library is not installed; the message says how to install it.
        """
        if self.missing:
            raise MissingLibrary(self.missing)
        module, _, name = self.place.partition(":")
        found: type[Any] = getattr(import_module(f"rumpus.recipes.{module}"), name)
        return found


def on_etcd(place: str, mistake: str = "", *expected: str, weakness: str = "") -> OtherSystemEntry:
    """An entry of a recipe on etcd; arguments as for ``OtherSystemEntry``.

    Args:
        place: the module is one of ``recipes.etcd``.
        mistake: see there.
        expected: see there.
        weakness: see there.
    """
    kinds = frozenset(expected)
    return OtherSystemEntry(f"etcd.{place}", "etcd", "etcd3gw", mistake, kinds, "etcd", weakness)


REVOKES: Final = (
    "a leader of etcd before 3.4.31 and 3.5.13 (Debian has 3.4.23) that was frozen while another "
    "was elected revokes, when it goes on, the leases that the other has kept alive "
    "(etcd-io/etcd#15247)"
)
"""The weakness of recipes whose leases on etcd are kept alive."""
