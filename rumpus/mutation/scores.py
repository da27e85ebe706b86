"""How many mutants a recipe's trial notices: the table, the survivors, and both as JSON."""

from collections import Counter
from collections.abc import Sequence
from os.path import commonpath
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rumpus.mutation.fates import Fate
from rumpus.nights.memory.evidence import Estimate, wilson
from rumpus.results.escapes import escaped

NOTICED = frozenset({"killed", "noticed"})
SURVIVING = frozenset({"survived", "same"})


class Score(NamedTuple):
    """How many of how many mutants were noticed.

    Attributes:
        made: all that were tried, or need not be.
        unreached: those on lines to which no run comes.
        equivalent: those that are no mistakes.
        killed: those that broke a promise.
        noticed: those with which too little happened for a verdict.
        survived: the others.
    """

    made: int
    unreached: int
    equivalent: int
    killed: int
    noticed: int
    survived: int

    @property
    def share(self) -> Estimate | None:
        """The share that was noticed of those that are reached and are mistakes; None: of none."""
        seen = self.killed + self.noticed
        of = seen + self.survived
        return wilson(seen, of) if of else None


def score_of(fates: Sequence[Fate]) -> Score:
    """The score of some mutants."""
    counts = Counter(each.state for each in fates)
    return Score(
        made=len(fates),
        unreached=counts["unreached"],
        equivalent=counts["equivalent"],
        killed=counts["killed"],
        noticed=counts["noticed"],
        survived=counts["survived"] + counts["same"],
    )


def in_words(share: Estimate | None) -> str:
    """A score in percent, with its interval of 95 %."""
    if share is None:
        return "none"
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def mutation_document(fates: Sequence[Fate], left: int) -> dict[str, Any]:
    """What ``rumpus mutate --json`` prints, but for the end.

    Args:
        fates: of the mutants that were tried.
        left: how many more were made.
    """
    score = score_of(fates)
    share = score.share
    return {
        "score": None if share is None else round(share.value, 4),
        "interval": None if share is None else [round(share.low, 4), round(share.high, 4)],
        **score._asdict(),
        "left": left,
        "cpu_seconds": round(sum(each.cpu_seconds for each in fates), 1),
        "mutants": [
            {
                "id": each.id,
                "module": each.module,
                "function": each.function,
                "line": each.line,
                "operator": each.operator,
                "mistake": each.words,
                "state": each.state,
                "by": list(each.by),
                "hazards": list(each.hazards),
                "recipe": each.recipe or None,
                "kind": each.kind or None,
                "servers_blamed": each.servers_blamed,
                "runs": each.runs,
                "cpu_seconds": each.cpu_seconds,
                "why": each.why or None,
            }
            for each in fates
        ],
    }


def print_scores(fates: Sequence[Fate], command: str, console: Console) -> None:
    """Print the table by module, and what was not noticed.

    Args:
        fates: of the mutants that were tried.
        command: runs a mutant that survived, with ``ID`` in the place of its id.
        console: where to.
    """
    _print_places(fates, "unreached", "no run comes to these lines:", console)
    surviving = [each for each in fates if each.state in SURVIVING]
    if surviving:
        console.print(Text("nothing showed these mistakes:", style="bold red"))
    for each in surviving:
        more = "; no run differed" if each.state == "same" else ""
        if each.hazards:
            more = f"; seen as hazards, without a promise: {', '.join(each.hazards)}"
        console.print(
            Text(f"  {each.id}  {each.place}: {escaped(each.words)}{more}"), soft_wrap=True
        )
    blamed = [each for each in fates if each.servers_blamed]
    if blamed:
        console.print(Text("servers were blamed for these, wrongly:", style="bold red"))
    for each in blamed:
        console.print(Text(f"  {each.id}  {each.place}: {escaped(each.words)}"), soft_wrap=True)
    console.print(_table(fates))
    console.print(
        f"noticed of those that are reached and are mistakes: {in_words(score_of(fates).share)}"
    )
    if surviving:
        console.print(
            Text(
                f"each is a patch ({command}); one that is no mistake is explained in "
                "equivalents.toml beside its module"
            ),
            soft_wrap=True,
        )


def _print_places(fates: Sequence[Fate], state: str, words: str, console: Console) -> None:
    functions = Counter((each.module, each.function) for each in fates if each.state == state)
    if not functions:
        return
    console.print(Text(words, style="yellow"))
    for (module, function), count in sorted(functions.items()):
        lines = {
            each.line
            for each in fates
            if (each.module, each.function, each.state) == (module, function, state)
        }
        where = ", ".join(map(str, sorted(lines)))
        console.print(
            Text(f"  {module}, {function}: line {where} ({count} mistakes)"), soft_wrap=True
        )


def _table(fates: Sequence[Fate]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("module", overflow="fold")
    for heading in ("made", "unreached", "equivalent", "killed", "noticed", "survived", "score"):
        table.add_column(heading, justify="right", no_wrap=True)
    modules = sorted({each.module for each in fates})
    package = commonpath(name.replace(".", "/") for name in modules) if modules[1:] else ""
    for name in modules:
        of_it = [each for each in fates if each.module == name]
        _add_row(table, name[len(package) :].lstrip("."), of_it)
    if len(modules) != 1:
        _add_row(table, "all", fates)
    return table


def _add_row(table: Table, name: str, fates: Sequence[Fate]) -> None:
    score = score_of(fates)
    share = "" if score.share is None else f"{score.share.value:.0%}"
    table.add_row(escaped(name), *map(str, score), share)
