"""Whether the story of a failure tells of the client whose mistake caused it.

The failures are those of the mutants' cases, and the mutants tell who made the mistake and when:
``benchmarks.mistakes`` says how the decisive one is found. A failure is *told* if its story has a
line about that client within the operation in which it made the mistake (from the call to the
return), or at the moment of the mistake (to within 1 ms).

A line counts if it begins with its time and names the client (``c1``) outside of quotes. So the
last line, which says what is wrong, does not count.

A third of the mistakes, chosen by a hash of the mutants' names, is held out, so that nobody makes
stories that fit only the failures that they have seen. ``--held-out`` measures these alone, and
shows only totals.

``python -m benchmarks.stories [--quick] [--held-out]``
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import Scale, add_quick_option
from benchmarks.mistakes import MS, Act, failure_of
from rumpus.campaigns.case import load_case

CASES = Path(__file__).resolve().parents[1] / "cases" / "mutants"
ENDING = ".case.json"
ONE_IN = 3
QUICK = 2

_TIMED = re.compile(r"\s*(\d+(?:\.\d+)?) s\b")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass
class Count:
    """How many failures of some mutants there were, and which were not told.

    Attributes:
        told: how many were.
        not_told: the names of the others.
        unlabelled: names of mutants that did not tell of a mistake.
        gone: names of cases that do not show their failure any more.
    """

    told: int = 0
    not_told: list[str] = field(default_factory=list)
    unlabelled: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def note(self, path: Path) -> None:
        """Perform a case and count it."""
        name = path.name.removesuffix(ENDING)
        failure = failure_of(load_case(path))
        if failure is None:
            self.gone.append(name)
        elif failure.act is None:
            self.unlabelled.append(name)
        elif tells(failure.story, failure.act, failure.history.start):
            self.told += 1
        else:
            self.not_told.append(name)

    def cells(self) -> tuple[str, ...]:
        """Told, and how many might have been; the others by number."""
        return (
            f"{self.told} of {self.told + len(self.not_told)}",
            f"{len(self.unlabelled)}",
            f"{len(self.gone)}",
        )


def is_held_out(mutant: str) -> bool:
    """Whether the failures of a mutant are looked at only with ``--held-out``.

    Mutants of the same name have the same mistake, whatever their family.
    """
    return int.from_bytes(sha256(mutant.encode()).digest()) % ONE_IN == 0


def tells(story: Sequence[str], act: Act, origin: int) -> bool:
    """Whether a story tells of a mistake.

    Args:
        story: its lines.
        act: the mistake.
        origin: what the times in the story count from, in ns on the run's clock.
    """
    begun, ended = act.lasted
    for time in _times_about(story, act.client):
        at = time + origin
        within = begun - MS / 2 <= at and (ended is None or at <= ended + MS / 2)
        if within or abs(at - act.time) <= MS:
            return True
    return False


def _times_about(story: Sequence[str], client: int) -> Iterator[float]:
    """The times (ns) of the lines about a client."""
    for line in story:
        timed = _TIMED.match(line)
        if timed and re.search(rf"\bc{client}\b", _QUOTED.sub("", line)):
            yield float(timed[1]) * 1000 * MS


def measure(scale: Scale, *, held_out: bool = False) -> Table:
    paths = [
        path
        for path in sorted(CASES.glob(f"*/*{ENDING}"))
        if is_held_out(path.name.removesuffix(ENDING)) == held_out
    ]
    counts: dict[str, Count] = defaultdict(Count)
    for path in paths[:QUICK] if scale.quick else paths:
        counts[path.parent.name].note(path)
    table = Table("family", "told", "no mistake told", "no failure", "not told")
    for family, count in counts.items() if not held_out else ():
        names = [*count.not_told, *(f"({each})" for each in count.unlabelled + count.gone)]
        table.add_row(family, *count.cells(), ", ".join(names))
    table.add_row("held out, in all" if held_out else "in all", *_sum(counts.values()).cells(), "")
    return table


def _sum(counts: Iterable[Count]) -> Count:
    every = Count()
    for each in counts:
        every.told += each.told
        every.not_told += each.not_told
        every.unlabelled += each.unlabelled
        every.gone += each.gone
    return every


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_quick_option(parser)
    parser.add_argument(
        "--held-out", action="store_true", help="the failures that are held out; totals only"
    )
    options = parser.parse_args()
    Console().print(measure(Scale(options.quick), held_out=options.held_out))


if __name__ == "__main__":
    main()
