"""``docs/models.md``: every model with what decides it, made from the models themselves.

``python -m docs.generators.models_page > docs/models.md`` makes it anew.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping

from docs.generators.marked_page import table_row
from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.deciders.registry import MODELS

_HEAD = """\
# Models

Made by `python -m docs.generators.models_page > docs/models.md`: change the models, not this page.

`rumpus check FILE --model MODEL` decides whether the operations of a history follow a model, and
says why not. FILE is any history in a format of [history-format.md](history-format.md), a run's
directory or its `history.jsonl`.

- An operation that **failed** never happened. Where a refusal is an answer (a compare-and-set that
  found another value, a lock that was held), a failure *without an error* is one, and is held
  against the model.
- An operation of **unknown** outcome may have happened at any time from its call on, or never. No
  history is refused because of one.
- Operations that return at the very moment of another's call are concurrent with it.
- A field `key` in the values says which of several independent objects an operation is about.
- *Runs* are the families of recipes whose runs the model judges, beside what they are judged by
  otherwise. Holds of locks and elections are taken from a run as `checker/exclusion/holds_by_model`
  says: a client that lost its session has released nothing, and holds no more.
- `--initial` is the object's first value, as JSON, or as text where it is none.
- `--budget` is how many seconds a search may take (60 unless told); what is open then is *unknown*.

"""

_OWN = """\
## A model of your own

Any sequential object is a small class, and `--model package.module:Class` names it. The module is
imported, so **its code is run** with your rights; it is also looked for in the working directory.
Name no module that you would not run. A history, by itself, never makes `rumpus check` run code.

```python
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model


class MaxRegister(Model):
    \"\"\"Keeps the greatest value that was written.\"\"\"

    functions = frozenset({"read", "write"})
    observers = frozenset({"read"})  # in every state: legal without changing it, or illegal
    initial = 0

    def step(self, state, f, argument, result):
        if f == "write":
            return max(state, argument)
        return state if result in (state, UNKNOWN) else ILLEGAL
```

The general search decides it. `checker/models/model.py` tells what else a model can say: what
refusals mean, which parts are independent, how operations and states are called in explanations.
"""


def models_page(models: Mapping[str, ModelEntry]) -> str:
    """The page, in Markdown."""
    return "".join((_HEAD, *_table(models.values()), *_sections(models.values()), _OWN))


def _table(entries: Iterable[ModelEntry]) -> Iterator[str]:
    yield "## What decides them\n\nThe first line that applies is used.\n\n"
    yield "| model | algorithm | used | cost | source |\n|---|---|---|---|---|\n"
    for entry in entries:
        name = f"`{entry.name}`"
        for algorithm in entry.algorithms:
            cells = (name, algorithm.name, algorithm.when, algorithm.cost, algorithm.source)
            yield f"{table_row(cells)}\n"
            name = ""
    yield "\n"


def _sections(entries: Iterable[ModelEntry]) -> Iterator[str]:
    yield "## What they are\n\n"
    for entry in entries:
        yield f"### {entry.name}\n\n{entry.summary[:1].upper()}{entry.summary[1:]}.\n\n"
        yield f"Runs: {entry.runs}.\n\n"
        if entry.initial is not None:
            yield f"`--initial`: {entry.initial}.\n\n"
        yield "| operation | arguments and results |\n|---|---|\n"
        yield from (f"{table_row((f'`{f}`', words))}\n" for f, words in entry.functions.items())
        yield "\n"


if __name__ == "__main__":
    sys.stdout.write(models_page(MODELS))
