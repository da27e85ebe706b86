"""Curator's recipes by family. They run on real servers only, with clients in containers."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.other_systems import OtherSystemEntry
from rumpus.recipes.servers import ZOOKEEPER


def _entry(
    place: str, mistake: str = "", expected: frozenset[str] = frozenset(), weakness: str = ""
) -> OtherSystemEntry:
    """An entry; arguments as for ``OtherSystemEntry``."""
    return OtherSystemEntry(
        f"curator.{place}",
        ZOOKEEPER,
        "",
        mistake,
        expected,
        weakness=weakness,
        client_image="curator",
    )


CURATOR_LOCKS: Final[Mapping[str, OtherSystemEntry]] = {
    "curator-mutex": _entry("contests:CuratorMutex"),
}
