from dataclasses import replace
from operator import itemgetter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.states import Interval
from rumpus.checker.verdict import Anomaly, CheckResult, Verdict
from rumpus.results.pictures.lanes import Lane, Span, lanes_of
from rumpus.results.pictures.timeline import draw_timeline
from tests.checker.laid_out import laid_out

MS = 1_000_000


@pytest.fixture(scope="module")
def lanes(sample):
    return lanes_of(sample.timeline, sample.history.operations(), sample.verdict)


def draw(lanes, start, end, **options):
    drawn = draw_timeline(lanes, start, end, "a stretch", **options)
    return ET.fromstring(drawn.svg), drawn.thinned


def classes(root):
    return {word for element in root.iter() for word in element.get("class", "").split()}


def texts(root):
    return [element.text for element in root.iter("text")]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))), st.integers(0, 60))
def test_a_lane_finds_what_touches_a_stretch(spans, start):
    spans = [Span(begin, begin + length, str(n), str) for n, (begin, length) in enumerate(spans)]
    found = Lane(spans, itemgetter(0, 1), lambda span: span).between(start, start + 5)
    touching = [s for s in spans if s.end >= start and s.start <= start + 5]
    assert list(found) == sorted(touching, key=itemgetter(0, 1))


def test_shows_clients_leaders_faults_and_states(lanes):
    root, thinned = draw(lanes, lanes.start, lanes.end)
    words = texts(root)
    for expected in ("client 4", "kill n3", "client-partition c4", "n2", "connected", "paused"):
        assert expected in words
    assert {"paused", "dead", "s-suspended", "s-lost", "band", "violation", "hazard"} <= classes(
        root
    )
    assert thinned > 20_000


def test_its_size_is_bound_by_its_width_not_by_the_length_of_the_run(make_sample):
    sizes = []
    for cycle in (4 * MS, 1 * MS):
        sample = make_sample(seconds=8, cycle=cycle)
        lanes = lanes_of(sample.timeline, sample.history.operations(), sample.verdict)
        sizes.append(len(draw_timeline(lanes, lanes.start, lanes.end, "all").svg))
    assert sizes[1] < sizes[0] * 1.5


def test_closer_up_each_span_is_drawn_with_its_words(sample, lanes):
    split = sample.verdict.anomalies[0]
    root, _ = draw(lanes, split.start - 20 * MS, split.end + 20 * MS, highlight=split)
    beliefs = [rect for rect in root.iter("rect") if rect.get("class") == "belief"]
    assert len(beliefs) == 2
    assert "client 2 believes that it holds token" in "".join(beliefs[1].itertext())
    assert "marked-violation" in classes(root)
    assert any("acquire → ok" in "".join(rect.itertext()) for rect in root.iter("rect"))


def test_with_many_clients_an_anomaly_shows_those_who_took_part():
    intervals = [Interval(kind="belief", start=1, end=90, client=n) for n in range(12)]
    clash = Anomaly(kind="split-brain", description="", clients=[3, 9], start=10, end=20)
    check = CheckResult(name="x", anomalies=[clash])
    verdict = Verdict(valid=False, outcome="violation", reasons=[], checks=[check])
    history = History([Op(time=t, process="control", type="info", f="phase") for t in (0, 100)])
    crowd = lanes_of(laid_out(history, bars=intervals), [], verdict)
    root, _ = draw(crowd, 0, 100, highlight=clash)
    assert [word for word in texts(root) if word.startswith("client ")] == ["client 3", "client 9"]
    root, _ = draw(crowd, 0, 100)
    assert sum(word.startswith("client ") for word in texts(root)) == 12


def test_what_is_seldom_is_seen_however_short(lanes):
    root, _ = draw(lanes, lanes.start, lanes.end)
    fails = [path for path in root.iter("path") if path.get("class") == "o-fail d4"]
    assert len(fails) == 2  # client 3's and client 4's


def test_labels_of_crowded_faults_do_not_overlap(lanes):
    faults = [
        FaultWindow(
            id=str(n),
            kind="partition",
            targets=["n1"],
            begun=lanes.start + n * 100 * MS,
            ended=lanes.start + n * 100 * MS + 50 * MS,
        )
        for n in range(30)
    ]
    root, _ = draw(replace(lanes, faults=faults), lanes.start, lanes.end)
    places = [
        (float(word.get("x")), float(word.get("y")))
        for word in root.iter("text")
        if word.get("class") == "fault"
    ]
    assert 1 <= len(places) <= 8
    assert len(set(places)) == len(places)


def test_a_stretch_without_length_can_be_drawn(lanes):
    root, _ = draw(lanes, lanes.start, lanes.start)
    assert root.tag == "svg"
