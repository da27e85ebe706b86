"""Histories of every format, damaged at random, under ``rumpus check``, with models and without."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rumpus.checker.deciders.registry import MODELS
from rumpus.model_choice import fitting_models
from rumpus.results.formats.edn_export import edn_history
from rumpus.results.history_file import read_history
from tests.torture.bases import Base
from tests.torture.commands import Call, Ended, run_all
from tests.torture.garbage import (
    changed_lines,
    changed_record,
    changed_text,
    changed_tokens,
    flipped,
)
from tests.torture.table import Row

ETCD = "".join(
    f"INFO  jepsen.util - {process}\t:{kind}\t:{f}\t{value}\n"
    for turn in range(40)
    for process, kind, f, value in (
        (turn % 3, "invoke", "write", turn % 5),
        (turn % 3 + 3, "invoke", "cas", f"[{turn % 5} {(turn + 1) % 5}]"),
        (turn % 3, "ok", "write", turn % 5),
        (turn % 3 + 3, "ok", "cas", f"[{turn % 5} {(turn + 1) % 5}]"),
        (turn % 3, "invoke", "read", "nil"),
        (turn % 3, "info", "read", ":timed-out"),
    )
)

KEY_VALUES = "".join(
    f'{{:process {process}, :type :{kind}, :f :{f}, :key "{turn % 3}", :value "{value}"}}\n'
    for turn in range(40)
    for process, kind, f, value in (
        (0, "invoke", "put", f"x{turn}"),
        (1, "invoke", "append", f"y{turn}"),
        (0, "ok", "put", f"x{turn}"),
        (1, "ok", "append", f"y{turn}"),
        (0, "invoke", "get", ""),
        (0, "ok", "get", f"x{turn}y{turn}"),
    )
)

WAYS = flipped, changed_text, changed_tokens, changed_lines
OF_JSON = *[changed_record] * 8, changed_lines, *WAYS

NUMBER = re.compile(rb'"index":\d+,')

MOST_RECORDS = 400
"""Of a history before it is damaged: damage works on small ones as on large ones."""


def hostile_histories(bases: list[Base], count: int, place: Path, seed: int = 0) -> Row:
    """Check damaged histories: each call has to end in order, whatever it says."""
    row = Row(f"{count:,} damaged histories")

    def heard(call: Call, ended: Ended) -> None:
        row.count(f"exit code {ended.code}")
        row.measure(ended)
        wrong = ended.trouble or _not_a_document(ended.out)
        if wrong:
            row.defect(f"{' '.join(call.words)}: {wrong}")
        else:
            shutil.rmtree(call.place)

    run_all(_calls(_sources(bases), count, place, seed), heard)
    return row


@dataclass(frozen=True)
class _Source:
    """A history before it is damaged: its file's name, what is in it, and models that fit it."""

    name: str
    data: bytes
    models: list[str]


def _sources(bases: list[Base]) -> list[_Source]:
    found = [
        _Source("history.log", ETCD.encode(), fitting_models(("read", "write", "cas"))),
        _Source("history.edn", KEY_VALUES.encode(), fitting_models(("get", "put", "append"))),
    ]
    for base in bases:
        path = base.path / "history.jsonl"
        # Without numbers, so that records may come and go and the rest is still judged.
        lines = NUMBER.sub(b"", path.read_bytes()).splitlines(keepends=True)
        history = read_history(path)
        models = fitting_models(call.f for call, _ in history.operations())
        data = b"".join([*lines[:MOST_RECORDS], lines[-1]])
        found.append(_Source("history.json", data, models))
        if models:
            edn = list(edn_history(history))
            data = "".join([*edn[:MOST_RECORDS], "]\n"]).encode()
            found.append(_Source("history.edn", data, models))
    return found


def _calls(sources: list[_Source], count: int, place: Path, seed: int) -> Iterator[Call]:
    for number in range(count):
        chance = Random(f"{seed} {number}")
        source = sources[number % len(sources)]
        data, alone = source.data, source.name == "history.json"
        for _ in range(chance.choice([1, 1, 2, 3])):
            data = chance.choice(OF_JSON if alone else WAYS)(data, chance)
        path = place / str(number) / source.name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        words = ["check", str(path), "--json"]
        if not alone or (source.models and chance.random() < 0.5):
            model = chance.choice(source.models if chance.random() < 0.9 else list(MODELS))
            words += ["--model", model, "--budget", "5"]
        yield Call(tuple(words), path.parent)


def _not_a_document(out: str) -> str | None:
    try:
        json.loads(out)
    except ValueError:
        return f"no JSON document: {out[:100]!r}"
    return None
