"""``summary.md``: a run on one page of Markdown, for a pull request or a chat."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from rumpus.checker.history import History
from rumpus.checker.verdict import Verdict
from rumpus.results.escapes import fenced, in_markdown
from rumpus.results.record import RunRecord
from rumpus.results.reports.measure_text import measure_lines, version_line
from rumpus.results.results_document import ResultsDocument
from rumpus.results.wording import SYMBOLS, headline, milliseconds, remarks, seconds


def summary(record: RunRecord, history: History, verdict: Verdict, results: ResultsDocument) -> str:
    """The page."""
    # Markdown, not HTML: each value passes `in_markdown`, unless it is `Markdown` already.
    environment = Environment(
        loader=PackageLoader("rumpus.results.reports", ""),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
        finalize=in_markdown,
    )
    environment.filters["fenced"] = fenced
    environment.filters["ms"] = milliseconds
    return environment.get_template("summary.md.j2").render(
        symbol=SYMBOLS[verdict.outcome],
        headline=headline(verdict),
        remarks=remarks(verdict, history),
        duration=seconds(history.end - history.start),
        record=record,
        results=results,
        meaning=verdict.meaning,
        measures=measure_lines(results.measures),
        versions=version_line(results.versions),
    )
