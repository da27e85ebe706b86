"""The values that an option may have: read from text, or given as they are, and checked.

What is wrong with a value is a ``WrongValue``. Its words follow the option's name as it is spelled
where the value was given: ``--clients: 101 is not from 1 to 100``.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from rumpus.checker.bounds import LONGEST_S, SHORTEST_S
from rumpus.checker.nearest_name import meant

T = TypeVar("T")

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}
_UNITS: Final = {"K": 10**3, "M": 10**6, "G": 10**9}


class WrongValue(ValueError):  # noqa: N818 - says what it is
    """A value that an option cannot have, in words that follow the option's name."""


class Values(ABC, Generic[T]):
    """A kind of values.

    Attributes:
        metavar: stands for a value in a command's usage; None: the option's name does.
    """

    metavar: ClassVar[str | None] = None

    @property
    @abstractmethod
    def described(self) -> str:
        """In a few words, in Markdown, which values there are."""

    @abstractmethod
    def checked(self, value: Any) -> T:
        """A value that a program or a file gives, as a run takes it.

        Raises:
            WrongValue: it is none of these.
        """

    def read(self, text: str) -> T:
        """The value that a text on the command line stands for.

        Raises:
            WrongValue: it is none of these.
        """
        return self.checked(text)


@dataclass(frozen=True)
class Whole(Values[int]):
    """Whole numbers from ``least`` to ``most``."""

    least: int
    most: int
    metavar = "N"

    @property
    def described(self) -> str:
        """``1 to 9``; a range that holds every number that a computer has is not told."""
        far = self.most >= 2**63 - 1
        return "a whole number" if far else f"{self.least} to {self.most}"

    def read(self, text: str) -> int:
        """The number that a text says."""
        try:
            number = int(text)
        except ValueError:
            raise WrongValue(f"{text!r} is not a whole number") from None
        return self.checked(number)

    def checked(self, value: Any) -> int:
        """The number, if it is one of these."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongValue(f"{value!r} is not a whole number")
        if not self.least <= value <= self.most:
            raise WrongValue(f"{value} is not from {self.least} to {self.most}")
        return value


@dataclass(frozen=True)
class Seconds(Values[float]):
    """Times from ``least`` to ``most`` seconds; text may have a unit: ``90s``, ``1.5m``, ``2h``."""

    least: float = SHORTEST_S
    most: float = LONGEST_S
    metavar = "S"

    @property
    def described(self) -> str:
        """``1 to 10 seconds``; the range that all times have is not told."""
        usual = (self.least, self.most) == (SHORTEST_S, LONGEST_S)
        return "seconds" if usual else f"{self.least:g} to {self.most:g} seconds"

    def read(self, text: str) -> float:
        """The seconds that a text says."""
        unit = _UNITS_S.get(text[-1:])
        try:
            seconds = float(text) if unit is None else float(text[:-1]) * unit
        except ValueError:
            raise WrongValue(f"{text!r} is not a number of seconds") from None
        return self._within(seconds, text)

    def checked(self, value: Any) -> float:
        """The seconds, if they are in the range."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise WrongValue(f"{value!r} is not a number of seconds")
        return self._within(float(value), f"{value}")

    def _within(self, seconds: float, said: str) -> float:
        if not self.least <= seconds <= self.most:
            raise WrongValue(f"{said} is not from {self.least:g} to {self.most:g} seconds")
        return seconds


@dataclass(frozen=True)
class Size(Values[int]):
    """Bytes; text may have a unit: ``300M`` or ``4G``."""

    least: int = 100 * 10**6
    most: int = 10**15
    metavar = "SIZE"

    @property
    def described(self) -> str:
        """The same in all places."""
        return "bytes, such as `300M` or `4G`"

    def read(self, text: str) -> int:
        """The bytes that a text says."""
        unit = _UNITS.get(text[-1:].upper())
        try:
            size = float(text) if unit is None else float(text[:-1]) * unit
            return self.checked(int(size))
        except (ValueError, OverflowError) as error:
            if isinstance(error, WrongValue):
                raise
            raise WrongValue(f"{text!r} is no size: give bytes, such as 300M or 4G") from None

    def checked(self, value: Any) -> int:
        """The bytes, if they are in the range."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongValue(f"{value!r} is not a number of bytes")
        if not self.least <= value <= self.most:
            raise WrongValue(f"{value} is not from {self.least:,} to {self.most:,} bytes")
        return value


@dataclass(frozen=True)
class Choice(Values[str]):
    """A few words."""

    words: Sequence[str]

    @property
    def described(self) -> str:
        """The words."""
        return ", ".join(f"`{word}`" for word in self.words)

    def checked(self, value: Any) -> str:
        """The word, if it is one of these."""
        if not isinstance(value, str) or value not in self.words:
            raise WrongValue(f"there is no {value!r}; {meant(str(value), self.words)}")
        return value


@dataclass(frozen=True)
class Flag(Values[bool]):
    """Whether something is so. On the command line the option alone says yes."""

    @property
    def described(self) -> str:
        """Words of its own."""
        return "yes or no"

    def checked(self, value: Any) -> bool:
        """The truth value."""
        if not isinstance(value, bool):
            raise WrongValue(f"{value!r} is neither true nor false")
        return value


@dataclass(frozen=True)
class Text(Values[str]):
    """Any text.

    Attributes:
        blank: whether it may be blank.
        home: whether ``~`` at its beginning is the user's home.
    """

    blank: bool = False
    home: bool = False

    @property
    def described(self) -> str:
        """Words of its own."""
        return "text"

    def checked(self, value: Any) -> str:
        """The text; of a path, its words."""
        if not isinstance(value, str | Path):
            raise WrongValue(f"{value!r} is no text")
        if not self.blank and not str(value).strip():
            raise WrongValue("it is empty")
        if self.home and "\0" in str(value):
            raise WrongValue(f"{value!r} has a null character, which no path has")
        return str(at_home(Path(value))) if self.home and str(value).startswith("~") else str(value)


@dataclass(frozen=True)
class Names(Values[list[str]]):
    """Names, in any number; text has them separated by commas."""

    metavar = "NAMES"

    @property
    def described(self) -> str:
        """Words of its own."""
        return "names"

    def read(self, text: str) -> list[str]:
        """The names."""
        return [name for each in text.split(",") if (name := each.strip())]

    def checked(self, value: Any) -> list[str]:
        """The names."""
        if isinstance(value, str):
            return self.read(value)
        if isinstance(value, list | tuple | set | frozenset):
            if not_text := [each for each in value if not isinstance(each, str)]:
                raise WrongValue(f"{not_text[0]!r} is no name")
            return list(value)
        raise WrongValue(f"{value!r} is not a list of names")


@dataclass(frozen=True)
class Packages(Names):
    """Names of top-level packages, of neither Python's library nor rumpus.

    Args:
        never: further names that there cannot be -> why, and what to do instead.
    """

    never: Mapping[str, str] = field(default_factory=dict)

    def read(self, text: str) -> list[str]:
        """The names, checked."""
        return self.checked(super().read(text))

    def checked(self, value: Any) -> list[str]:
        """The names, if all of them can be."""
        names = super().checked(value)
        for name in names:
            top = name.partition(".")[0]
            if top == "rumpus" or top in sys.stdlib_module_names:
                whose = "rumpus" if top == "rumpus" else "Python's library"
                raise WrongValue(
                    f"{name!r} is of {whose}, which is loaded anew where it must be; "
                    "name other packages"
                )
            if why := self.never.get(top):
                raise WrongValue(f"{name!r} {why}")
            if not name.isidentifier():
                raise WrongValue(
                    f"{name!r} is no name of a top-level package; "
                    "give what stands before the first dot"
                )
        return names


OWN_PACKAGES = Packages()
"""Those that may be loaded anew for each client."""
SHARED_PACKAGES = Packages({"kazoo": "is loaded anew for each client; leave it out"})
"""Those that all clients may share."""


def at_home(path: Path) -> Path:
    """A path, with the user's home in place of ``~`` at its beginning.

    What a run leaves behind has such paths, and a shell does not replace what is quoted.
    """
    return path.expanduser() if path.parts[:1] == ("~",) else path


def is_there(path: Path) -> bool:
    """Whether a path leads to something. One that is too long for a path leads to nothing."""
    try:
        return path.exists()
    except OSError:
        return False


@dataclass(frozen=True)
class File(Values[Path]):
    """A file or a directory, which need not exist."""

    metavar = "FILE"

    @property
    def described(self) -> str:
        """Words of its own."""
        return "a path"

    def checked(self, value: Any) -> Path:
        """The path."""
        if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
            raise WrongValue(f"{value!r} is no path")
        return at_home(Path(value))


@dataclass(frozen=True)
class Function(Values[Callable[..., Any]]):
    """Something to call."""

    @property
    def described(self) -> str:
        """Words of its own."""
        return "a function"

    def checked(self, value: Any) -> Callable[..., Any]:
        """The function."""
        if not callable(value):
            raise WrongValue(f"{value!r} is no function")
        function: Callable[..., Any] = value
        return function
