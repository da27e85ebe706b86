"""Markdown pages with a marked part that is generated."""

from collections.abc import Iterable


def with_part(page: str, mark: str, part: str) -> str:
    """A page with its marked part replaced and the rest unchanged.

    Args:
        page: the whole page. ``<!-- MARK -->`` and ``<!-- /MARK -->``, each on a line of its own,
            enclose the part.
        mark: the name in these comments.
        part: the new part, in Markdown.

    Raises:
        ValueError: the page does not mark exactly one part by that name.
    """
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        raise ValueError(f"a page must mark one place for its {mark}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{part}\n{end}{rest.split(end)[1]}"


def table_row(cells: Iterable[str]) -> str:
    """A row of a table, without a newline."""
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
