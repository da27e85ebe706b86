"""How Sphinx builds the site: ``make docs`` makes ``build/site`` of the pages in this folder."""

import re
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx
from sphinx.util import logging

project = "rumpus"
copyright = "the rumpus developers"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
exclude_patterns = ["generators", "plans"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nitpicky = True
highlight_language = "text"

html_theme = "furo"
html_title = "rumpus"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

DOCS: Final = Path(__file__).parent
ROOT: Final = DOCS.parent
LINK: Final = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
_LOGGER: Final = logging.getLogger(__name__)


def name_files_of_the_repository(_app: Sphinx, page: str, source: list[str]) -> None:
    """Print the paths of files that are not on the site instead of links to them.

    The site is read alone, on a disk or a server, where such links would lead nowhere. That the
    files exist is checked here.
    """
    folder = (DOCS / page).parent

    def instead(link: re.Match[str]) -> str:
        words, target = link[1], (folder / link[2]).resolve()
        if target.is_relative_to(DOCS) and DOCS / "plans" not in target.parents:
            return link[0]
        if not target.exists():
            _LOGGER.warning("%s links to %s, which does not exist", page, link[2])
        path = f"`{target.relative_to(ROOT).as_posix()}`"
        return path if target.name in words or words.strip("`") in path else f"{words} ({path})"

    source[0] = LINK.sub(instead, source[0])


def setup(app: Sphinx) -> None:
    """Have links to files of the repository replaced before a page is read."""
    app.connect("source-read", name_files_of_the_repository)
