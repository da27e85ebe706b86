"""What has become of mutants, and the file that keeps it, so that a command can go on."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from rumpus.mutation.source_mutants import SourceMutant
from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError
from rumpus.results.untrusted_file import read_regular
from rumpus.runs.made_here import is_noted, note
from rumpus.usage_error import UsageError

State = Literal["killed", "noticed", "survived", "same", "unreached", "equivalent"]
"""``killed``: a run broke a promise, or could not be performed. ``noticed``: in a run too little
happened for a verdict. ``survived``: no run showed anything. ``same``: neither, and each run was to
the byte the run of the recipe as it is. ``unreached``: no run comes to its line. ``equivalent``: it
is no mistake, as somebody has explained."""

_LARGEST: Final = 1 << 28
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of a mutant.

    Attributes:
        id: the mutant's.
        module: the module that has the mistake.
        function: where in it.
        line: of the mistake.
        operator: the rule that has made it.
        words: what is wrong, in one line.
        state: what has become of it.
        by: the promises that were broken; or why a run could not be performed.
        hazards: kinds that were seen, but of which the recipe promises nothing.
        recipe: of the run that has shown it; else empty.
        kind: of that run.
        servers_blamed: whether a run blamed the servers, for a mistake in a recipe.
        runs: how many runs were performed.
        cpu_seconds: processor time that they took.
        budget: how much they might have taken.
        why: why it is no mistake; else empty.
    """

    id: str
    module: str
    function: str
    line: int
    operator: str
    words: str
    state: State
    by: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    recipe: str = ""
    kind: str = ""
    servers_blamed: bool = False
    runs: int = 0
    cpu_seconds: float = 0.0
    budget: float = 0.0
    why: str = ""

    @property
    def place(self) -> str:
        """Where the mistake is."""
        return f"{self.module}:{self.line} ({self.function})"

    def holds(self, budget: float) -> bool:
        """Whether more processor time, up to this, could change it."""
        return self.state in ("killed", "unreached", "equivalent") or self.budget >= budget


def fate_of(mutant: SourceMutant, state: State, **more: object) -> Fate:
    """The fate of a mutant; ``more`` are attributes of `Fate`."""
    return msgspec.convert({**_told(mutant), "state": state, **more}, Fate)


def told_again(fate: Fate, mutant: SourceMutant) -> Fate:
    """A fate from a file, with what the mutant says of itself: the file may be anybody's."""
    return msgspec.structs.replace(fate, **_told(mutant))


def _told(mutant: SourceMutant) -> dict[str, Any]:
    names = ("id", "module", "function", "line", "operator", "words")
    return {name: getattr(mutant, name) for name in names}


class FateFile:
    """The file of fates: one JSON object a line, the first of which says of what they are.

    A fate is known if it was found here (`rumpus.runs.made_here`): the file may be anybody's.

    Args:
        path: the file.
        basis: a digest of all that decides them. Fates of another basis are forgotten.

    Attributes:
        fates: those that are known: id -> fate.
        forgotten: how many were of another basis, or were not found here.

    Raises:
        UsageError: it is no such file.
        StoreError: it cannot be written.
    """

    def __init__(self, path: Path, basis: str) -> None:
        self.path = path
        self._basis = basis.encode()
        self.fates: dict[str, Fate] = {}
        self.forgotten = 0
        lines = list(_lines(path)) if path.exists() else []
        kept, ended = self._read(lines, basis)
        if not kept:
            self._begin(basis)
        elif not ended:  # a killed command may leave half a line
            self._begin(basis, list(self.fates.values()))

    def note(self, fate: Fate) -> None:
        """Keep a fate; it is on disk when this returns.

        Raises:
            StoreError: it cannot be written.
        """
        self.fates[fate.id] = fate
        line = msgspec.json.encode(fate)
        note(self._basis, line)
        try:
            with self.path.open("ab") as file:
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError.from_os_error(self.path, "keep a mutant's fate", error) from error

    def _read(self, lines: Sequence[bytes], basis: str) -> tuple[bool, bool]:
        """Read what is there; whether it is of this basis, and whether its last line is whole."""
        if not lines:
            return False, True
        try:
            of = msgspec.json.decode(lines[0], type=dict[str, str])["basis"]
        except (*_UNREADABLE, KeyError) as error:
            raise UsageError(f"{self.path}: no file of mutants' fates ({error})") from error
        if of != basis:
            self.forgotten = len(lines) - 1
            return False, True
        for number, line in enumerate(lines[1:], 2):
            try:
                fate = msgspec.json.decode(line, type=Fate)
            except _UNREADABLE as error:
                if number == len(lines):
                    return True, False
                raise UsageError(f"{self.path}, line {number}: {error}") from error
            if is_noted(self._basis, line):
                self.fates[fate.id] = fate
            else:
                self.forgotten += 1
        return True, True

    def _begin(self, basis: str, fates: Sequence[Fate] = ()) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError.from_os_error(self.path.parent, "make the directory", error) from error
        lines = [msgspec.json.encode({"basis": basis}), *map(msgspec.json.encode, fates)]
        write_atomically(self.path, b"".join(line + b"\n" for line in lines))


def _lines(path: Path) -> Iterator[bytes]:
    for line in read_regular(path, "read it", _LARGEST).split(b"\n"):
        if line:
            yield line
