"""How Sphinx builds the site: ``make docs`` makes ``build/site`` of the pages in this folder."""

import re
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx import addnodes
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
GLOSSARY: Final = "reference/glossary"
EVERYDAY: Final = frozenset(
    {"case", "frame", "grant", "line", "night", "operation", "process", "unknown", "usage", "watch"}
)
"""Terms that pages also use as plain words: these are not linked."""

UNLINKED: Final = (
    nodes.FixedTextElement,
    nodes.comment,
    nodes.literal,
    nodes.raw,
    nodes.reference,
    nodes.title,
    addnodes.pending_xref,
)
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


def terms() -> dict[str, re.Pattern[str]]:
    """The glossary's terms, the longest first, with what finds their uses."""
    _, _, entries = (DOCS / f"{GLOSSARY}.md").read_text("utf-8").partition("{glossary}\n")
    named = [line for line in entries.splitlines() if line[:1].isalpha()]
    return {
        term: re.compile(rf"\b{re.sub('y$', '(y|ie)', term)}(s|es)?\b", re.IGNORECASE)
        for term in sorted(named, key=len, reverse=True)
        if term not in EVERYDAY
    }


def link_terms(app: Sphinx, page: nodes.document) -> None:
    """Link the first use of each term to the glossary, so that the Markdown needs no marks."""
    if app.env.docname == GLOSSARY:
        return
    linked = {each.get("reftarget") for each in page.findall(addnodes.pending_xref)}
    for term, uses in terms().items():
        if term in linked:
            continue
        for text in page.findall(nodes.Text):
            if _is_plain(text) and (use := uses.search(text)):
                link = addnodes.pending_xref(
                    "", nodes.inline("", use[0]), refdomain="std", reftype="term", reftarget=term
                )
                link["refdoc"], link["refexplicit"] = app.env.docname, True
                around = [nodes.Text(text[: use.start()]), link, nodes.Text(text[use.end() :])]
                text.parent.replace(text, around)
                break


def _is_plain(node: nodes.Node) -> bool:
    """Whether a text is neither code nor a heading nor a link."""
    while (node := node.parent) is not None:
        if isinstance(node, UNLINKED):
            return False
    return True


def setup(app: Sphinx) -> None:
    """Have links to files of the repository replaced, and terms linked."""
    app.connect("source-read", name_files_of_the_repository)
    app.connect("doctree-read", link_terms)
