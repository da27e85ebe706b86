from pathlib import Path

import pytest

from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, judge
from rumpus.results.pictures.lanes import lanes_of
from rumpus.results.reports.drawing import Drawing
from rumpus.results.reports.findings import cited_records
from rumpus.results.reports.first_screen import MOST_CLIENTS, Standing, first_screen
from rumpus.results.results_document import results_document
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

MS = 1_000_000


def recorded():
    found = Recorded(clients=9).session(0, 8, "connected")
    for client in range(8):
        found.acquire(1000 + client, 1100 + client, client)
    return found


def clash(start=1100, end=1200, **more):
    description = "c0 and c1 both held it"
    anomaly = Anomaly(kind="split-brain", description=description, clients=[0, 1], **more)
    anomaly.start, anomaly.end = start * MS, end * MS
    return anomaly


@pytest.fixture
def screen_of(sample):
    """The first screen of a run in which anomalies were found."""

    def make(run, *anomalies, **found):
        history = run.history()
        timeline = laid_out(history)
        check = CheckResult(name="exclusion", anomalies=list(anomalies), **found)
        verdict = judge([check], ["split-brain"])
        results = results_document(Path("runs/x"), sample.record, timeline, verdict)
        drawing = Drawing(lanes_of(timeline, history.operations(), verdict))
        return first_screen(timeline, verdict, results, cited_records(history, verdict), drawing)

    return make


def test_says_in_one_sentence_what_went_wrong(screen_of):
    screen = screen_of(recorded(), clash())
    assert (screen.kind, screen.sentence) == ("split-brain", "c0 and c1 both held it.")
    screen = screen_of(recorded(), Anomaly(kind="herd", description="six woke up!", start=MS))
    assert (screen.kind, screen.sentence) == ("herd", "Six woke up!")


def test_shows_the_moment_with_as_much_before_it(screen_of):
    assert screen_of(recorded(), clash()).stretch == (1000 * MS, 1200 * MS + 100 * MS // 3)
    short = screen_of(recorded(), clash(1100, 1101))
    assert short.stretch == (1050 * MS, 1101 * MS + 50 * MS // 3)


def test_an_anomaly_without_a_time_is_where_its_records_or_its_story_are(screen_of):
    run = recorded()
    cited = [op.index for op in run.ops if op.f == "acquire" and op.process == 3]
    screen = screen_of(run, clash(0, 0, ops=cited))
    assert screen.stretch == (903 * MS, 1103 * MS + 100 * MS // 3)


def test_lines_outside_of_the_picture_are_in_a_second_one(screen_of):
    run = recorded().session(10, 0, "suspended")
    run.ops.sort(key=lambda op: op.time)
    screen = screen_of(run, clash())
    assert [line.seen for line in screen.lines] == [line.at >= "1" for line in screen.lines]
    assert not screen.lines[0].seen
    assert ">1</text>" not in screen.wide
    assert ">1</text>" in screen.lead_up
    assert screen_of(recorded(), clash()).lead_up is None


def test_tells_where_each_client_of_the_anomaly_stood_last(screen_of):
    run = recorded()
    for at, client, line in [(1105, 0, "a"), (1110, 0, "b"), (1300, 0, "c"), (1110, 5, "d")]:
        run.session(at, client, "suspended", at=f"{line}.py:1 in acquire", code="wait()")
    screen = screen_of(run, clash())
    assert screen.standings == [
        Standing(0, "1.110 s", "suspended", "b.py:1 in acquire", "wait()"),
    ]


def test_shows_few_clients_those_of_the_anomaly_first(screen_of):
    anomaly = clash()
    anomaly.clients = [7, 2, 1, 0, 3]
    screen = screen_of(recorded(), anomaly)
    assert screen.wide.count('class="of-client"') == MOST_CLIENTS
    for client in (0, 1, 2, 7):
        assert f'data-client="{client}"' in screen.narrow


def test_without_an_anomaly_it_shows_the_whole_run_and_says_what_that_rests_on(screen_of):
    screen = screen_of(recorded())
    assert screen.sentence == (
        "No check found anything in 8 operations that succeeded, with 0 faults seen in force and "
        "healed."
    )
    assert screen.stretch == (0, 0)
    assert "the whole run over time" in screen.wide
    need = Requirement("handovers", 10, 2)
    assert screen_of(recorded(), requirements=[need]).sentence == (
        "Too little happened: handovers, 2 of at least 10."
    )
    hazard = Anomaly(kind="herd", description="six woke up", start=MS, end=MS)
    assert screen_of(recorded(), hazard, requirements=[need]).stretch == (0, 0)
    many = screen_of(recorded(), unknown=["a", "b", "c", "d"]).sentence
    assert many == "Exclusion: a; exclusion: b; exclusion: c; and 1 reason more."
