"""Every kind of anomaly has a page, with an example that shows just that, and a drawing of it."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.generators.anomalies_page import GROUPS, REMEDIES, anomaly_files, main
from docs.generators.anomaly_causes import cause_of
from docs.generators.anomaly_drawing import draw, words_of
from docs.generators.anomaly_examples import (
    RUNS,
    case_of,
    commands,
    example_of,
    examples,
    written,
)
from docs.generators.anomaly_scene import scene_of
from docs.generators.scene import CALL, HOLD, STOPPED, Row, Scene, Stretch
from rumpus.checker.check import all_kinds
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.changes import Change
from rumpus.checker.verdict import Anomaly
from tests.checker.laid_out import laid_out
from tests.sampling import sampled

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "anomalies"
SVG = "{http://www.w3.org/2000/svg}"
KINDS = sorted(all_kinds())


def texts(picture, style=None):
    found = ET.fromstring(picture).iter(f"{SVG}text")
    return [each.text for each in found if style is None or each.get("class") == style]


def test_pages_and_drawings_are_up_to_date_and_none_is_left_over():
    made = anomaly_files(all_kinds())
    remedy = "python -m docs.generators"
    assert {path.name for path in FOLDER.iterdir()} == made.keys(), remedy
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, (name, remedy)


def test_a_page_of_a_kind_that_is_no_more_is_removed(tmp_path):
    (tmp_path / "of-yesterday.md").write_text("", encoding="utf-8")
    (tmp_path / "of-yesterday.svg").write_text("", encoding="utf-8")
    main(tmp_path)
    names = {"index.md", *(f"{kind}.{ending}" for kind in KINDS for ending in ("md", "svg"))}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_for_every_kind_it_says_what_to_do_and_for_no_other():
    assert REMEDIES.keys() == all_kinds().keys()


def test_every_kind_is_in_one_group():
    assert Counter(kind for kinds in GROUPS.values() for kind in kinds) == Counter(KINDS)


def test_every_kind_has_an_example_of_a_run_or_of_a_case_that_shows_it():
    told = {kind: example.command for kind, example in examples().items()}
    assert sorted(told) == KINDS, "python -m docs.generators.anomaly_examples KIND"
    assert {kind: told[kind] for kind in RUNS} == RUNS
    for kind in told.keys() - RUNS.keys():
        case = case_of(told[kind])
        assert case is not None
        assert case.expects.kind == kind
    assert commands().keys() == told.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_has_the_lanes_and_lines_of_its_story(kind):
    scene = examples()[kind].scene
    picture = (FOLDER / f"{kind}.svg").read_text(encoding="utf-8")
    assert tuple(texts(picture, "lane")) == scene.lanes
    whose = {name[0] for row in scene.rows if (name := re.match(r"[cn]\d+\b", row.words))}
    assert whose <= set(scene.lanes)
    assert {lane for row in scene.rows for lane in row.lanes} <= set(scene.lanes)
    places = sum(len(row.lanes) for row in scene.rows)
    assert len(texts(picture, "number")) == places >= len(scene.rows) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_is_small_says_what_it_shows_and_runs_nothing(kind):
    picture = (FOLDER / f"{kind}.svg").read_text(encoding="utf-8")
    root = ET.fromstring(picture)
    assert kind in root.find(f"{SVG}title").text
    assert examples()[kind].what in root.find(f"{SVG}desc").text
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    assert root.find(f"{SVG}rect").get("class") == "paper"
    assert "<script" not in picture
    assert "href" not in picture
    assert len(picture) < 12_000
    page = (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    assert re.search(rf"^!\[{kind}: [^\]]{{10,}}\]\({kind}\.svg\)$", page, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (
            RUNS["sequence-regression"],
            (
                "The recipe is the mutant [`counts-children`](../../recipes/sequence.md). "
                "Its mistake: takes the number after the highest among the children, even if "
                "another client has it."
            ),
        ),
        (
            "replay cases/servers/watch/late-events.case.json",
            (
                "The servers are mutants (`late-events`): they send one watch event in five half a "
                "second after the change that it reports."
            ),
        ),
        (
            "replay cases/findings/18-barrier-stale-read.case.json",
            (
                "This is [finding 18](../../track-record/findings.md). `Barrier`: `wait` returns "
                "although the barrier had been created before."
            ),
        ),
        (RUNS["stale-belief"], ""),
        (RUNS["unexpected-error"], ""),
    ],
)
def test_the_known_mistake_of_an_example_is_told(command, cause):
    assert cause_of(command) == cause


@sampled("kind", RUNS, of=4)
def test_a_run_shows_what_is_drawn(kind):
    remedy = f"python -m docs.generators.anomaly_examples {kind}"
    assert example_of(kind, RUNS[kind]) == examples()[kind], remedy


def test_a_run_without_the_anomaly_is_no_example():
    with pytest.raises(ValueError, match="does not show herd"):
        example_of("herd", RUNS["unexpected-error"])


def test_examples_are_read_as_they_were_written(tmp_path, monkeypatch):
    known = {kind: examples()[kind] for kind in ("herd", "deadlock")}
    monkeypatch.setattr("docs.generators.anomaly_examples.EXAMPLES", tmp_path / "kept.json")
    (tmp_path / "kept.json").write_text(written(known), encoding="utf-8")
    assert examples() == known


SCENE = Scene(
    lanes=("c0", "c10", "servers"),
    rows=(
        Row(500_000_000, "c0 acquire: ok session='0x1', token=7, node='/a/b", ("c0",)),
        Row(700_000_000, "fault: client-pause c0 0.678779446635", ("c0",), fault=True),
        Row(2_700_000_000, "c0 has no session any more: 1 is deleted", ("servers",)),
        Row(2_750_000_000, "c10 is told: 000000000d deleted", ("c10",), "servers"),
        Row(2_800_000_000, "c10 creates node 0123456789abcdef01, in its work", ("servers",), "c10"),
    ),
    stretches=(
        Stretch("c0", STOPPED, 600_000_000, 2_900_000_000),
        Stretch("c0", HOLD, 500_000_000, 2_900_000_000),
        Stretch("c10", CALL, 2_800_000_000, 2_850_000_000),
    ),
    anomaly=(2_700_000_000, 2_800_000_000),
    concerned=("c0",),
)


def test_words_leave_out_what_is_long_and_says_little():
    assert [words_of(row) for row in SCENE.rows] == [
        "c0 acquire: ok token=7",
        "fault: client-pause c0 0.679",
        "c0 has no session any more: 1 is deleted",
        "c10 is told: d deleted",
        "c10 creates node 012345…, in its work",
    ]


def test_lines_are_numbered_on_their_lanes_in_order_of_time():
    picture = draw(SCENE, "a title", "a description")
    root = ET.fromstring(picture)
    xs = {
        each.text: each.get("x") for each in root.iter(f"{SVG}text") if each.get("class") == "lane"
    }
    numbers = [each for each in root.iter(f"{SVG}text") if each.get("class") == "number"]
    assert [each.text for each in numbers] == ["1", "2", "3", "4", "5"]
    lanes = ["c0", "c0", "servers", "c10", "servers"]
    assert [each.get("x") for each in numbers] == [xs[lane] for lane in lanes]
    heights = [float(each.get("y")) for each in numbers]
    assert heights == sorted(heights)
    assert len(set(heights)) == len(heights)


def test_messages_are_arrows_from_their_senders():
    root = ET.fromstring(draw(SCENE, "a title", "a description"))
    xs = {each.text: float(each.get("x")) for each in root.iter(f"{SVG}text") if each.get("class")}
    lines = {each.get("class"): each for each in root.iter(f"{SVG}line")}
    assert float(lines["sent told"].get("x1")) == xs["servers"]
    assert float(lines["sent told"].get("x2")) > xs["c10"]
    assert float(lines["sent"].get("x1")) == xs["c10"]
    assert float(lines["sent"].get("x2")) < xs["servers"]


def test_states_and_the_anomaly_reach_from_line_to_line():
    root = ET.fromstring(draw(SCENE, "a title", "a description"))
    number = {
        each.text: float(each.get("y")) - 3.2
        for each in root.iter(f"{SVG}text")
        if each.get("class") == "number"
    }
    lines = {each.get("class"): each for each in root.iter(f"{SVG}line")}
    assert float(lines["hold"].get("y1")) == pytest.approx(number["1"], abs=0.2)
    assert number["1"] < float(lines["stopped"].get("y1")) < number["2"]
    assert float(lines["stopped"].get("y2")) > number["5"]
    (band,) = (each for each in root.iter(f"{SVG}rect") if each.get("class") == "band")
    top = float(band.get("y"))
    assert number["2"] < top < number["3"]
    assert number["5"] < top + float(band.get("height"))


def test_marks_that_are_not_in_a_picture_are_not_explained():
    plain = Scene(lanes=("c0",), rows=(Row(1, "c0 is connected", ("c0",)),))
    assert texts(draw(plain, "a title", "a description"), "key") == []
    keys = " ".join(texts(draw(SCENE, "a title", "a description"), "key"))
    assert keys.count(";") == 6


def op(index, time, process, f, type="info", **value):  # noqa: A002 - the field's name
    return Op(index=index, time=time, process=process, type=type, f=f, value=value)


def test_a_scene_is_of_the_lines_of_the_story_with_their_messages():
    ops = [
        op(0, 1000, "session", "connected", client=1, session="0x2"),
        op(1, 2000, 0, "acquire", "invoke"),
        op(2, 4000, 0, "acquire", "ok", node="/l/n-0000000007"),
        op(3, 5000, "link", "watch", client=1, path="/l/n-0000000007", event="created"),
        op(4, 6000, "witness", "act", client=0, accepted=True),
    ]
    made = Change(3000, 1, "created", "/l/n-0000000007", "0x1", 0, owner="0x1")
    gone = Change(5500, 2, "expired", "/l/n-0000000007", "0x1", 0, owner="0x1")
    run = laid_out(History(ops, clients=2), znodes={"/l/n-0000000007": [made, gone]})
    found = Anomaly(
        kind="stale-action", description="one", ops=[1, 2, 4], clients=[0, 1], start=4000, end=6000
    )
    scene = scene_of(run, found)
    assert scene.lanes == ("c0", "c1", "servers", "resource")
    assert [(row.time, row.lanes, row.sender) for row in scene.rows] == [
        (0, ("c1",), ""),
        (1000, ("c0",), ""),
        (2000, ("servers",), "c0"),
        (3000, ("c0",), ""),
        (4000, ("c1",), "servers"),
        (4500, ("servers",), ""),
        (5000, ("resource",), "c0"),
    ]
    assert Stretch("c0", CALL, 1000, 3000) in scene.stretches
    assert scene.anomaly == (3000, 5000)
    assert scene.concerned == ("c0", "c1")
