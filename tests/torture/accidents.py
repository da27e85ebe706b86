"""What happens to a run's directory by accident or malice, and leaves its seal as it was.

Each takes the run's directory, one of another run, and a source of chance.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from rumpus.results.seal import LOGGED_ON, MADE_OF_IT, SEAL
from tests.torture.garbage import (
    changed_lines,
    changed_record,
    changed_text,
    changed_tokens,
    flipped,
    with_another_value,
)

Accident = Callable[[Path, Path, Random], None]

ACCIDENTS: dict[str, Accident] = {}

LARGE = 12 * 1024**3
"""Bytes of a sparse file."""


def accident(happen: Accident) -> Accident:
    ACCIDENTS[happen.__name__.replace("_", " ")] = happen
    return happen


def _rewrite(path: Path, changed: Callable[[bytes], bytes]) -> None:
    path.write_bytes(changed(path.read_bytes()))


def _files(run: Path) -> list[Path]:
    """The files that a verdict rests on."""
    return sorted(
        path
        for path in run.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.relative_to(run).as_posix() not in MADE_OF_IT | LOGGED_ON
    )


def _one(run: Path, chance: Random) -> Path:
    """One of them; those that everything rests on are hit more often."""
    telling = [run / "history.jsonl", run / "test.json"]
    return chance.choice([*_files(run), *(path for path in telling * 3 if path.exists())])


def _swap(run: Path, one: Path, two: Path) -> None:
    one.rename(run / "swapped")
    two.rename(one)
    (run / "swapped").rename(two)


@accident
def bytes_flipped(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.write_bytes(flipped(path.read_bytes(), chance))


@accident
def text_changed(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.write_bytes(changed_text(path.read_bytes(), chance))


@accident
def file_cut(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


@accident
def file_gone(run: Path, _: Path, chance: Random) -> None:
    _one(run, chance).unlink()


@accident
def file_empty(run: Path, _: Path, chance: Random) -> None:
    _one(run, chance).write_bytes(b"")


@accident
def file_of_another_run(run: Path, other: Path, chance: Random) -> None:
    path = _one(run, chance)
    source = other / path.relative_to(run)
    path.write_bytes((source if source.exists() else chance.choice(_files(other))).read_bytes())


@accident
def zeros_appended(run: Path, _: Path, chance: Random) -> None:
    """A sparse file of 12 GB."""
    os.truncate(_one(run, chance), LARGE)


@accident
def garbage_appended(run: Path, _: Path, chance: Random) -> None:
    with _one(run, chance).open("ab") as file:
        file.write(chance.randbytes(chance.choice([1, 100, 1_000_000])))


@accident
def pipe_in_place(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.unlink()
    os.mkfifo(path)


@accident
def device_in_place(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.unlink()
    path.symlink_to(chance.choice(["/dev/zero", "/dev/null", "/dev/urandom", "/dev/full"]))


@accident
def link_to_itself(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.unlink()
    path.symlink_to(path.name)


@accident
def directory_in_place(run: Path, _: Path, chance: Random) -> None:
    path = _one(run, chance)
    path.unlink()
    path.mkdir()


@accident
def file_in_place_of_a_directory(run: Path, _: Path, chance: Random) -> None:
    path = chance.choice([run / "nodes", run / "nodes/n1", run / "clients"])
    shutil.rmtree(path)
    path.write_text("not a directory")


@accident
def two_files_swapped(run: Path, _: Path, chance: Random) -> None:
    _swap(run, *chance.sample(_files(run), 2))


@accident
def two_servers_swapped(run: Path, _: Path, chance: Random) -> None:
    _swap(run, *chance.sample(sorted((run / "nodes").glob("*/")), 2))


@accident
def server_gone(run: Path, _: Path, chance: Random) -> None:
    shutil.rmtree(chance.choice(sorted((run / "nodes").glob("*/"))))


@accident
def server_of_another_run(run: Path, other: Path, chance: Random) -> None:
    node = chance.choice(sorted((run / "nodes").glob("*/")))
    shutil.rmtree(node)
    shutil.copytree(chance.choice(sorted((other / "nodes").glob("*/"))), node)


@accident
def server_twice(run: Path, _: Path, chance: Random) -> None:
    node = chance.choice(sorted((run / "nodes").glob("*/")))
    shutil.copytree(node, run / "nodes" / chance.choice(["n0", "n9", "n\udcff", "x y"]))


@accident
def stranger_in_it(run: Path, _: Path, chance: Random) -> None:
    name = chance.choice(["nodes/true-times.json", "note.txt", "nodes/n1/version-2/log.999"])
    (run / name).write_text(chance.choice(["", "{", '{"1": 2}', "x" * 1_000_000]))


@accident
def lines_changed(run: Path, _: Path, chance: Random) -> None:
    _rewrite(run / "history.jsonl", lambda content: changed_lines(content, chance))


@accident
def tokens_changed(run: Path, _: Path, chance: Random) -> None:
    name = chance.choice(["history.jsonl", "test.json", "plan.json", SEAL])
    _rewrite(run / name, lambda content: changed_tokens(content, chance))


@accident
def no_end(run: Path, _: Path, __: Random) -> None:
    _rewrite(
        run / "history.jsonl", lambda content: b"".join(content.splitlines(keepends=True)[:-1])
    )


@accident
def record_changed(run: Path, _: Path, chance: Random) -> None:
    _rewrite(run / "history.jsonl", lambda content: changed_record(content, chance))


@accident
def document_changed(run: Path, other: Path, chance: Random) -> None:
    name = chance.choice(["test.json", "test.json", "test.json", "plan.json", SEAL])
    document, another = (json.loads((each / name).read_text()) for each in (run, other))
    (run / name).write_text(json.dumps(with_another_value(document, another, chance)))


@accident
def seal_gone(run: Path, _: Path, __: Random) -> None:
    (run / SEAL).unlink()
