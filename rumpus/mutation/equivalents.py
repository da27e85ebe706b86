"""Mutants that are no mistakes: a file beside the module says why, for a reader to believe.

``equivalents.toml``, in the folder of the module:

    [[equivalent]]
    module = "shop.locks"
    function = "StockLock.release"
    before = "self._node = None"
    after = "pass"
    why = "acquire sets it anew before anybody reads it"
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from rumpus.mutation.source_mutants import SourceMutant
from rumpus.mutation.targets import Target
from rumpus.untrusted_toml import read_toml
from rumpus.usage_error import UsageError

NAME: Final = "equivalents.toml"


class Equivalent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mutant that is no mistake.

    Attributes:
        module: the module.
        function: where in it, as ``Class.method``.
        before: the words in whose place others stand; white space around words does not count.
        after: these others.
        why: why the recipe keeps all promises with them, too.
    """

    module: str
    function: str
    before: str
    after: str
    why: str

    def is_about(self, mutant: SourceMutant) -> bool:
        """Whether it is about this mutant."""
        return (
            (self.module, self.function) == (mutant.module, mutant.function)
            and _plain(self.before) == _plain(mutant.before)
            and _plain(self.after) == _plain(mutant.after)
        )


class _File(msgspec.Struct, forbid_unknown_fields=True):
    equivalent: list[Equivalent] = []


class Equivalents:
    """Those of some modules.

    Args:
        targets: the modules.

    Raises:
        UsageError: a file is malformed, or gives no reason.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        self._known: list[Equivalent] = []
        for folder in sorted({each.file.parent for each in targets}):
            self._known += _read(folder / NAME)
        self._modules = {each.name for each in targets}

    def why(self, mutant: SourceMutant) -> str:
        """Why a mutant is no mistake; empty if nobody says that it is none."""
        return next((each.why for each in self._known if each.is_about(mutant)), "")

    def outdated(self, mutants: Sequence[SourceMutant]) -> list[Equivalent]:
        """Those about modules on trial that are about none of the mutants (any more)."""
        return [
            each
            for each in self._known
            if each.module in self._modules and not any(map(each.is_about, mutants))
        ]


def stub(mutant: SourceMutant) -> str:
    """What would be written of a mutant, were it no mistake: but for the reason."""
    fields = {
        "module": mutant.module,
        "function": mutant.function,
        "before": mutant.before.strip(" ,"),
        "after": mutant.after,
        "why": "",
    }
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
    return "\n".join(["[[equivalent]]", *lines, ""])


def _plain(words: str) -> list[str]:
    return words.strip(" ,").split()


def _read(path: Path) -> Sequence[Equivalent]:
    if not path.is_file():
        return ()
    try:
        found = msgspec.convert(read_toml(path, "read what is no mistake"), _File).equivalent
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from error
    for each in found:
        if not each.why.strip():
            raise UsageError(f"{path}: {each.function}: say why `{each.after}` is no mistake")
    return found
