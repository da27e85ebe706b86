"""``--service NAME=HOST:PORT``: servers of the user's that a recipe lives on, as an option."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rumpus.option_values import Values, WrongValue
from rumpus.recipes.servers import Address

MOST: Final = 9
"""Services of a run: as many as there may be servers."""

_SERVICE: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_-]{0,62})=(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s\[\]:,=]+))"
    r":(?P<port>[0-9]{1,5})"
)
_FORM: Final = "write it as NAME=HOST:PORT, as in postgres=127.0.0.1:5432"


def addresses(services: Sequence[str]) -> dict[str, Address]:
    """Name -> host and port.

    Args:
        services: each as ``NAME=HOST:PORT``; an address of IPv6 in brackets.

    Raises:
        WrongValue: one is written otherwise, or two have one name.
    """
    found: dict[str, Address] = {}
    for text in services:
        match = _SERVICE.fullmatch(text)
        if match is None:
            raise WrongValue(f"{text!r} is no service: {_FORM}")
        port = int(match["port"])
        if not 1 <= port <= 65535:
            raise WrongValue(f"{text}: the port {port} is not from 1 to 65535")
        if match["name"] in found:
            raise WrongValue(f"{text}: there is another service called {match['name']}")
        found[match["name"]] = (match["six"] or match["host"], port)
    if len(found) > MOST:
        raise WrongValue(f"{len(found)} services; a run has at most {MOST}")
    return found


@dataclass(frozen=True)
class Services(Values[list[str]]):
    """Services, each ``NAME=HOST:PORT``; text has them separated by commas."""

    metavar = "NAME=HOST:PORT"

    @property
    def described(self) -> str:
        """Words of its own."""
        return f"`NAME=HOST:PORT`, at most {MOST}"

    def read(self, text: str) -> list[str]:
        """The services that a text names."""
        return self.checked([each.strip() for each in text.split(",")])

    def checked(self, value: Any) -> list[str]:
        """The services: of a text, of a list of texts, or of a mapping name -> ``host:port``."""
        if isinstance(value, str):
            return self.read(value)
        if isinstance(value, Mapping):
            value = [f"{name}={address}" for name, address in value.items()]
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            raise WrongValue(f"{value!r} names no services: {_FORM}")
        addresses(value)
        return list(value)
