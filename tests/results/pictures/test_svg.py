from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.results.pictures.svg import TimeScale, picture, rect, text, time_axis

SECOND = 10**9


@given(st.integers(0, 10**15), st.integers(0, 10**13), st.integers(0, 10**15))
def test_round_times_lie_within_the_stretch_and_are_few(start, length, origin):
    scale = TimeScale(start, start + length, origin)
    ticks = scale.ticks()
    assert len(ticks) <= 12
    assert all(scale.left <= x <= scale.right for x, _ in ticks)
    if length > 10:
        assert len({label for _, label in ticks}) == len(ticks) >= 2


@pytest.mark.parametrize(
    ("start", "end", "labels"),
    [
        (0, 60 * SECOND, ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s"]),
        (59 * SECOND, 59 * SECOND + SECOND // 100, ["59.000 s", "59.001 s", "59.002 s"]),
    ],
)
def test_labels_have_as_many_digits_as_they_need(start, end, labels):
    ticks = TimeScale(start + 7, end + 7, 7).ticks()
    assert [label for _, label in ticks][: len(labels)] == labels


def test_times_outside_lie_on_the_edge():
    scale = TimeScale(100, 200, 0)
    assert (scale.x(0), scale.x(10**9)) == (scale.left, scale.right)
    assert scale.left < scale.x(150) < scale.right


def test_all_text_is_escaped():
    nasty = '</title></svg><script>alert("1")</script>&\''
    parts = [rect(0, 0, 1, 1, "band", nasty), text(0, 0, nasty)]
    parts += time_axis(TimeScale(0, 10, 0), 0, 9)
    drawn = picture(10, parts, nasty)
    root = ET.fromstring(drawn)
    assert root.get("aria-label") == nasty
    assert root.find("rect/title").text == nasty
    assert "<script" not in drawn
