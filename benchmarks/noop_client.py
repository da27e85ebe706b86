"""A client whose operations do nothing and always succeed. It needs no servers."""

from collections.abc import Callable
from typing import Any

from rumpus.harness.clients.client_body import ClientContext, Outcome


class NoopClient:
    grants = "acquire"
    ends = "release"

    def __init__(self, _context: ClientContext) -> None:
        self._held = False

    def believes(self) -> bool:
        return self._held

    def close(self) -> None:
        """Nothing goes on in the background."""

    def invoke(self, f: str, value: Any) -> Outcome:
        self._held = f == "acquire"
        return Outcome("ok", value)


def build() -> Callable[[ClientContext], NoopClient]:
    return NoopClient
