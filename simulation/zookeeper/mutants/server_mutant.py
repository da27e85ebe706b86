"""The description of a mutant server: a ZooKeeper server with a mistake on purpose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

GUIDE: Final = "ZooKeeper Programmer's Guide, "
"""How ``source`` begins if it is a section of the Programmer's Guide."""


@dataclass(frozen=True)
class ServerMutant:
    """Servers with one known mistake, and the anomalies that it causes.

    Args:
        name: value of ``rumpus run --server-mutant``.
        mistake: what the servers do wrong; continues a sentence that begins "the servers".
        source: ZooKeeper's documentation of the violated guarantee, or the bug report.
        workload: a workload on plain znodes that shows the mistake.
        recipe: a correct recipe of that workload.
        expected: the anomalies that this mistake causes; none for a bug that ordinary runs do
            not trigger, and where there is a gap.
        parts: standard class to the class that replaces it (``Settings.parts``).
        bugs: known bugs of ZooKeeper 3.8.0 that the servers have (``Settings.bugs``).
        options: further options that a run needs to trigger the mistake.
        gap: why no workload shows the mistake; empty if one does.
    """

    name: str
    mistake: str
    source: str
    workload: str
    recipe: str
    expected: frozenset[str]
    parts: Mapping[type, type] = field(default_factory=dict)
    bugs: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()
    gap: str = ""
