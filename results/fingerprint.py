"""Fingerprints of failures: what two failures have in common that probably have one cause."""

from collections.abc import Iterable

import msgspec

from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What failed, and what made it fail.

    Args:
        kind: the kind of anomaly.
        operations: the functions of the operations that show it, sorted, each once.
        faults: the kinds of fault after which it happens, sorted, each once: of a case those of its
            plan, so that once it has been shrunk they are those without which it does not happen.
            Empty for an anomaly of a run, as the run alone does not show which faults it needs.
    """

    kind: str
    operations: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    def after(self, faults: Iterable[str]) -> "Fingerprint":
        """The same failure, after these kinds of fault."""
        return msgspec.structs.replace(self, faults=tuple(sorted(set(faults))))

    def resembles(self, other: "Fingerprint") -> bool:
        """Whether both have the same kind and operations, whatever the faults."""
        return (self.kind, self.operations) == (other.kind, other.operations)

    def __str__(self) -> str:
        """As one line, such as ``double-grant of acquire after client-pause, kill``."""
        of = f" of {', '.join(self.operations)}" if self.operations else ""
        after = f" after {', '.join(self.faults)}" if self.faults else ""
        return f"{self.kind}{of}{after}"


def fingerprint(history: History, anomaly: Anomaly) -> Fingerprint:
    """The fingerprint of an anomaly of a run, as far as the run alone shows it.

    Args:
        history: what happened in the run.
        anomaly: what went wrong.
    """
    called = history.functions()
    functions = {called[index] for index in anomaly.ops if index in called}
    return Fingerprint(kind=anomaly.kind, operations=tuple(sorted(functions)))
