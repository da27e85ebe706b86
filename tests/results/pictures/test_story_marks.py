from itertools import pairwise
from xml.etree import ElementTree as ET

from rumpus.results.pictures.lanes import lanes_of
from rumpus.results.pictures.story_marks import Mark, draw_marks
from rumpus.results.pictures.svg import TimeScale
from rumpus.results.pictures.timeline import draw_timeline


def places(times, scale):
    marks = [Mark(number, time, 0, "it") for number, time in enumerate(times, 1)]
    parts, height = draw_marks(marks, scale, 0, 44)
    root = ET.fromstring(f"<g>{''.join(parts)}</g>")
    return [float(each.get("cx")) for each in root.iter("circle")], height


def test_numbers_stand_at_their_moments_and_never_on_each_other():
    scale = TimeScale(0, 1000, 0)
    apart, _ = places([100, 500, 900], scale)
    assert apart == [round(scale.x(time), 1) for time in (100, 500, 900)]
    for times in ([100, 100, 100, 101], [995, 999, 1000, 1000], [0, 0, 1000, 1000]):
        close, _ = places(times, scale)
        assert all(right - left >= 13.9 for left, right in pairwise(close))
        assert max(close) <= scale.right


def test_a_moment_outside_of_the_picture_has_no_number():
    assert places([5, 50], TimeScale(10, 20, 0)) == ([], 0)


def test_a_narrow_picture_has_the_same_numbers_and_rows(sample):
    lanes = lanes_of(sample.timeline, sample.history.operations(), sample.verdict)
    split = sample.verdict.anomalies[0]
    marks = [Mark(1, split.start, 2, "<it>"), Mark(2, split.end, None, "that")]
    for narrow, width in ((False, 1100), (True, 366)):
        drawn = draw_timeline(
            lanes,
            split.start - 1000,
            split.end + 1000,
            "it",
            split,
            marks=marks,
            clients=[0, 2],
            narrow=narrow,
        )
        root = ET.fromstring(drawn.svg)
        assert root.get("viewBox").split()[2] == str(width)
        assert [each.get("href") for each in root.iter("a")] == ["#line-2", "#line-1"]
        groups = [each.get("data-client") for each in root.iter("g") if each.get("data-client")]
        assert groups == ["0", "2"]
        places = [float(each.get("x", 0)) for each in root.iter() if each.tag != "svg"]
        assert max(places) <= width
