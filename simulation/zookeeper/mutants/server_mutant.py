"""What a mutant server is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ServerMutant:
    """Servers with one known mistake, and how it shows.

    Args:
        name: as ``rumpus run --server-mutant`` has it.
        mistake: what the servers do wrong, in words that follow "the servers".
        source: where the promise stands that they break, or where the bug was reported.
        workload: of plain znodes, which shows the mistake.
        recipe: of that workload, a sound one.
        expected: the anomalies that are this mistake's own; none for a bug that ordinary runs do
            not show, which is not hunted.
        parts: the classes that take the place of others (``Settings.parts``).
        bugs: known bugs of ZooKeeper 3.8.0 that the servers have (``Settings.bugs``).
        options: what a run has to be told besides, to bring the mistake about.
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
