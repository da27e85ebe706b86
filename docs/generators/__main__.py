"""Bring all pages up to date that are made from the code and from kept cases.

``python -m docs.generators`` takes some seconds and performs no runs. Programs that perform some
have commands of their own: claims, systems, versions, examples of anomalies, pictures.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docs.generators import (
    anomalies_page,
    api_page,
    commands_page,
    fault_tables,
    findings_page,
    index_file,
    models_page,
    option_tables,
    recipe_pages,
    server_promises_page,
    track_record_page,
)
from rumpus.catalogue.index import FILE
from rumpus.checker.deciders.registry import MODELS

DOCS: Final = Path(__file__).resolve().parents[1]

WHOLE: Final[Mapping[str, Callable[[], str]]] = {
    "api": api_page.api_page,
    "commands": commands_page.commands_page,
    "models": lambda: models_page.models_page(MODELS),
    "server-promises": server_promises_page.server_promises_page,
}
"""Pages of ``docs/reference`` that are generated as a whole."""


def main(docs: Path = DOCS) -> None:
    """Bring the pages in a folder up to date."""
    for name, made in WHOLE.items():
        (docs / "reference" / f"{name}.md").write_text(made(), encoding="utf-8")
    anomalies_page.main(docs / "reference" / "anomalies")
    fault_tables.main(docs)
    option_tables.main(docs)
    recipe_pages.main(docs / "recipes")
    findings_page.main(docs / "track-record" / "findings.md")


if __name__ == "__main__":
    main()
    FILE.write_text(index_file.index_file(), encoding="utf-8")
    track_record_page.main()
