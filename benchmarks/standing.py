"""What a run is given when it is to begin and end at an ensemble that outlives it, in peace."""

from pathlib import Path
from typing import Any

from rumpus.harness.ensemble import Ensemble


class Standing:
    """An ensemble that neither starts nor ends with the run. Everything else is its own."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ensemble, name)

    def start(self) -> None:
        pass

    def gather(self, destination: Path) -> None:
        pass

    def tear_down(self) -> None:
        pass


class Calm:
    """A nemesis that does nothing."""

    def schedule(self) -> list[Any]:
        return []

    def invoke(self, f: str, value: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError(f, value)

    def outside(self) -> dict[str, str] | None:
        return None

    def heal_all(self) -> dict[str, Any]:
        return {"verified": True, "detail": "", "healed": []}

    def close(self) -> None:
        pass
