"""What a report says first: what went wrong, in one sentence and in a picture of that moment.

Below it stand the lines of the story, numbered as in the picture, and the lines of the recipe at
which the clients stood. The moment is that of the first broken promise, or of the first hazard if
none was broken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from rumpus.checker.history import Op
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.checker.wording import counted
from rumpus.results.pictures.space_time import draw_space_time, events_between
from rumpus.results.pictures.story_marks import Mark
from rumpus.results.reports.drawing import CONTEXT, Drawing
from rumpus.results.reports.findings import extent
from rumpus.results.results_document import ResultsDocument
from rumpus.results.story import StoryLine, story_lines

MOST_CLIENTS: Final = 4
"""How many clients the picture shows, so that it ends on the first screen."""

_BEYOND: Final = 2
"""How many times its length a picture can be moved to either side."""

_MOST_REASONS: Final = 3


@dataclass
class ToldLine:
    """A line of the story; ``seen`` says whether the picture of the moment reaches to it."""

    number: int
    at: str
    words: str
    record: int | None
    seen: bool


@dataclass
class Standing:
    """The line of the recipe at which a client stood, and when that was recorded."""

    client: int
    at: str
    event: str
    line: str
    code: str


@dataclass
class FirstScreen:
    """The first screen, and what belongs to it.

    Attributes:
        kind: the kind of anomaly that it tells; empty if there is none.
        sentence: what went wrong.
        wide: the picture of the moment.
        narrow: the same for a telephone.
        stretch: the time that it shows; from 0 to 0 if there is no such moment.
        lines: the story.
        lead_up: the picture that has all lines of the story, where the first has not.
        standings: where the anomaly's clients stood.
        messages: who sent what to whom.
    """

    kind: str
    sentence: str
    wide: Markup | None = None
    narrow: Markup | None = None
    stretch: tuple[int, int] = (0, 0)
    lines: list[ToldLine] = field(default_factory=list)
    lead_up: Markup | None = None
    standings: list[Standing] = field(default_factory=list)
    messages: Markup | None = None

    @property
    def numbers(self) -> Mapping[int, int]:
        """Index of a record -> the line of the story that it shows."""
        return {line.record: line.number for line in self.lines if line.record is not None}


def first_screen(
    timeline: Timeline,
    verdict: Verdict,
    results: ResultsDocument,
    cited: Mapping[int, Op],
    drawing: Drawing,
) -> FirstScreen:
    """The first screen of a run's report.

    Args:
        timeline: the run.
        verdict: what is wrong with it.
        results: its counts.
        cited: the records that anomalies cite, by index.
        drawing: makes the pictures.
    """
    settled = verdict.outcome in ("valid", "violation")
    anomaly = next(iter(verdict.anomalies), None) if settled else None
    lanes = drawing.lanes
    if anomaly is None:
        screen = FirstScreen(kind="", sentence=_without_anomaly(verdict, results))
        description = "the whole run over time"
        screen.wide = drawing.timeline(lanes.start, lanes.end, description)
        screen.narrow = drawing.timeline(lanes.start, lanes.end, description, narrow=True)
        return screen
    screen = FirstScreen(kind=anomaly.kind, sentence=_sentence(anomaly.description))
    story = story_lines(timeline, anomaly)
    start, end = screen.stretch = _moment(anomaly, cited, story, timeline)
    screen.lines = [
        ToldLine(
            number=number,
            at=lanes.seconds(line.time),
            words=line.words,
            record=line.record,
            seen=start <= line.time <= end,
        )
        for number, line in enumerate(story, 1)
    ]
    screen.standings = _standings(timeline, anomaly, story)
    _draw(screen, timeline, anomaly, story, drawing)
    return screen


def _draw(
    screen: FirstScreen,
    timeline: Timeline,
    anomaly: Anomaly,
    story: Sequence[StoryLine],
    drawing: Drawing,
) -> None:
    """Draw the moment, what led to it, and the messages around it."""
    marks = [Mark(n, line.time, line.client, line.words) for n, line in enumerate(story, 1)]
    start, end = screen.stretch
    clients = _clients(anomaly, story)
    description = f"{anomaly.kind}: {anomaly.description}"

    def moment(*, narrow: bool) -> Markup | None:
        return drawing.timeline(
            start,
            end,
            description,
            anomaly,
            marks=marks,
            clients=clients,
            narrow=narrow,
            beyond=0 if narrow else _BEYOND * (end - start),
        )

    screen.wide, screen.narrow = moment(narrow=False), moment(narrow=True)
    if not all(line.seen for line in screen.lines):
        first, last = min(start, story[0].time), max(end, story[-1].time)
        margin = max((last - first) // 20, CONTEXT)
        screen.lead_up = drawing.timeline(
            first - margin, last + margin, "what led to it", anomaly, marks=marks
        )
    if events := events_between(timeline, clients, start, end, anomaly.start):
        words = f"messages around: {anomaly.description}"
        screen.messages = drawing.admit(lambda: draw_space_time(events, marks, words))


def _sentence(words: str) -> str:
    """Words as a sentence; a client's name at the beginning stays as it is."""
    is_client = words[:1] == "c" and words[1:2].isdigit()
    begun = words if is_client else words[:1].upper() + words[1:]
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def _without_anomaly(verdict: Verdict, results: ResultsDocument) -> str:
    if verdict.outcome == "valid":
        verified = sum(fault.verified for fault in results.faults)
        return (
            f"No check found anything in {counted(results.ops.ok, 'operation')} that succeeded, "
            f"with {counted(verified, 'fault')} seen in force and healed."
        )
    reasons = "; ".join(verdict.reasons[:_MOST_REASONS])
    more = len(verdict.reasons) - _MOST_REASONS
    return _sentence(f"{reasons}; and {counted(more, 'reason')} more" if more > 0 else reasons)


def _moment(
    anomaly: Anomaly,
    cited: Mapping[int, Op],
    story: Sequence[StoryLine],
    timeline: Timeline,
) -> tuple[int, int]:
    """The anomaly's time with what is just before and after it."""
    start, end = extent(anomaly, cited)
    if not end and story:
        start, end = story[0].time, story[-1].time
    if not end:
        return timeline.history.start, timeline.history.end
    length = max(end - start, CONTEXT)
    return start - length, end + length // 3


def _clients(anomaly: Anomaly, story: Sequence[StoryLine]) -> list[int]:
    """The clients that the picture shows: the anomaly's, then others of the story."""
    named = [*anomaly.clients, *(line.client for line in story if line.client is not None)]
    return list(dict.fromkeys(named))[:MOST_CLIENTS]


def _standings(timeline: Timeline, anomaly: Anomaly, story: Sequence[StoryLine]) -> list[Standing]:
    """Where each of the anomaly's clients stood when it was last recorded, up to its end."""
    since = story[0].time if story else anomaly.start
    until = max(anomaly.start, anomaly.end)
    found: dict[int, Standing] = {}
    for op in timeline.history.events("session"):
        client, line = op.value.get("client"), op.value.get("at")
        if line and client in anomaly.clients and since <= op.time <= until:
            at = f"{(op.time - timeline.history.start) / 1e9:.3f} s"
            code = str(op.value.get("code", ""))
            found[client] = Standing(client, at, op.f, str(line), code)
    return [found[client] for client in sorted(found)]
