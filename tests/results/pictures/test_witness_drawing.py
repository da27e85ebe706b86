from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

from hypothesis import given

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.results.pictures.svg import WIDTH
from rumpus.results.pictures.witness_drawing import MOST_OPERATIONS, draw_witness, witness_document
from rumpus.results.pictures.witness_layout import width
from tests.results.witnesses import NASTY, many, split_brain, stale_read, witnesses

SVG = "{http://www.w3.org/2000/svg}"
LETTERS = {"w-label": 6.02, "w-tick": 5.3, "w-lane": 6.4, "w-remark": 5.0}
"""About how wide a letter is, in units."""


def boxes(root):
    """Where the words stand: left, top, right, bottom."""
    found = []
    for each in root.iter("text"):
        wide = width(each.text) * LETTERS[each.get("class")]
        x, y = float(each.get("x")), float(each.get("y"))
        left = x - wide / 2 if each.get("text-anchor") == "middle" else x
        found.append((left, y - 7, left + wide, y + 2, each.text))
    return found


@given(witnesses())
def test_no_words_overlap_and_all_stand_within_the_picture(case):
    root = ET.fromstring(draw_witness(*case))
    height = float(root.get("viewBox").split()[3])
    words = boxes(root)
    for left, top, right, bottom, _ in words:
        assert left >= 0
        assert right <= WIDTH
        assert top >= 0
        assert bottom <= height
    for a, b in combinations(words, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, (a, b)


@given(witnesses())
def test_labels_stand_within_their_bars(case):
    root = ET.fromstring(draw_witness(*case))
    marks = list(root)
    for bar, label in pairwise(marks):
        if label.get("class") == "w-label":
            right = float(bar.get("x")) + float(bar.get("width"))
            assert float(label.get("x")) + width(label.text) * 6.02 <= right


def bars(root):
    return [r for r in root.iter(f"{SVG}rect") if r.get("class") != "w-paper"]


def test_two_holders_at_once():
    root = ET.fromstring(witness_document(*split_brain()))
    titles = [bar.find(f"{SVG}title").text for bar in bars(root)]
    assert titles == [
        "process 7: acquire()",
        "process 3: acquire() -> token 9",
        "process 3: release()",
        "process 5: acquire() -> ?",
    ]
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert words[0] == "both"
    assert {"process 3", "process 5", "process 7", "0.000 s", "2.480 s"} <= set(words)
    holds = [r for r in root.iter(f"{SVG}line") if r.get("class") == "w-hold"]
    assert len(holds) == 2
    assert max(float(hold.get("x1")) for hold in holds) < min(
        float(hold.get("x2")) for hold in holds
    )


def test_a_search_that_got_stuck():
    root = ET.fromstring(witness_document(*stale_read()))
    assert [bar.get("class") for bar in bars(root)] == [
        "w-context",
        "w-context w-unknown",
        "w-against",
        "w-context",
        "w-stuck",
    ]
    words = " ".join(text.text for text in root.iter(f"{SVG}text"))
    assert "4. cas((1, 3)) -> refused" in words
    assert "Possible before ✘: 2." in words


def test_forty_operations_all_have_their_words():
    root = ET.fromstring(draw_witness(*many(40)))
    assert {f"write({n})" for n in range(40)} <= {text.text for text in root.iter("text")}


def test_its_size_is_bound():
    drawn = draw_witness(*many(3_000))
    assert f"{3_000 - MOST_OPERATIONS:,} earlier operations are not drawn" in drawn
    assert len(drawn) < 200_000


def test_a_file_has_its_own_style_and_its_words_in_lines():
    table, witness = split_brain()
    witness.description = "and so on " * 60
    document = witness_document(table, witness)
    root = ET.fromstring(document)
    assert ".w-against" in root.find(f"{SVG}style").text
    lines = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "w-words"]
    assert len(lines) > 3
    assert " ".join(lines).count("and so on") == 60
    assert max(map(len, lines)) * 7.4 < WIDTH
    assert "var(" not in document


def test_everything_is_escaped():
    rows = [{"f": NASTY, "call": 0, "argument": NASTY, "result": NASTY, "key": NASTY}]
    table = OperationTable.from_rows(rows)
    witness = Witness(operations=[0], description=NASTY, prefix=[], stuck=0, states=[NASTY])
    for drawn in (draw_witness(table, witness), witness_document(table, witness)):
        ET.fromstring(drawn)
        assert "<script" not in drawn
        assert "\x1b" not in drawn
        assert "\x00" not in drawn
