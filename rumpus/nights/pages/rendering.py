"""Makes HTML of what the pages say. All that is not ours is escaped by the templates."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from rumpus.nights.pages.places import COMPARE, FAILURES, INDEX, NIGHTS
from rumpus.results.escapes import escaped_lines
from rumpus.results.reports.assets import asset, hashed
from rumpus.version import __version__

PACKAGE: Final = "rumpus.nights.pages"

PAGES: Final[Sequence[tuple[str, str]]] = (
    (INDEX, "Newest night"),
    (NIGHTS, "Nights"),
    (FAILURES, "Failures"),
    (COMPARE, "Compare"),
)
"""What the head of every page leads to."""


def rendered(
    template: str,
    place: str,
    made_of: str = "",
    *,
    also: Sequence[tuple[str, str]] = (),
    refresh: int = 0,
    **values: Any,
) -> str:
    """A page.

    Args:
        template: which kind of page.
        place: its path under the directory of the site.
        made_of: a digest of all that it is made of; empty: it is made anew each time.
        also: places to which its head leads beside `PAGES`, and their names.
        refresh: after how many seconds it is asked for again; 0: it is not.
        values: of the template.
    """
    style, script = _style(), asset("pages.js", package=PACKAGE)
    page = (
        _environment()
        .get_template(template)
        .render(
            pages=(*PAGES, *also),
            refresh=refresh,
            here=place,
            root="../" * place.count("/"),
            made_of=made_of,
            style=style,
            script=script,
            hashed={"style": hashed(style), "script": hashed(script)},
            **values,
        )
    )
    return escaped_lines(page)


@cache
def program() -> str:
    """A digest of what makes pages, beside what they tell: another program makes other ones."""
    own = [each for each in files(PACKAGE).iterdir() if each.is_file()]
    sources = [each.read_bytes() for each in sorted(own, key=lambda each: each.name)]
    parts = [__version__.encode(), _style().encode(), *sources]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _style() -> Any:
    return asset("colours.css", "report.css") + asset("pages.css", package=PACKAGE)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(PACKAGE, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
