from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.decision import Witness
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.results.pictures.witness_layout import width, witness_layout
from rumpus.results.pictures.witness_text import MOST_OPERATIONS, witness_text
from tests.results.witnesses import NASTY, many, split_brain, stale_read, witnesses

TWO_HOLDERS = """\
process 3   ┣ acquire() -> token 9 ━━━━━━━━┫══┣ release() ━━━━┫
process 5                                      ┣ acquire() -> ? ━━━━━━▶
process 7  ┣ acquire() ━━━━━━━━━━━━━━━━━━━━━━┫═════════════════════════
           ╵0.000 s                        ╵1.900 s           ╵2.490 s
            ╵1.000 s                         ╵2.031 s
                                              ╵2.480 s
"""

STALE_READ = """\
process 0  ├ 1. write(1) ─┤ ├ 4. cas((1, 3)) -> refused ──┤
process 1   ├ 2. write(2) -> ? ────────────────────────────────────────────────▷
process 2                  ┣ 3. read() -> 2 ━━━━━━━━━━━━━━━┫┣ ✘ read() -> 1 ━┫
           ╵0             ╵10                             ╵19                ╵30
            ╵5             ╵12                             ╵20
                            ╵14                             ╵25

Numbers: an order in which they can have taken effect, as far as there is one; ✘
cannot follow.
Possible before ✘: 2.
"""


def test_two_holders_at_once():
    assert witness_text(*split_brain(), columns=72) == TWO_HOLDERS


def test_a_search_that_got_stuck():
    assert witness_text(*stale_read(), columns=80) == STALE_READ


@given(witnesses(most=20), st.integers(40, 120))
def test_fits_the_terminal_and_shows_every_operation(case, columns):
    table, witness = case
    drawn = witness_text(table, witness, columns)
    assert max(map(width, drawn.splitlines())) <= columns
    bars = witness_layout(table, witness, 99).bars
    assert sum(drawn.count(call) for call in "┣├") == len(bars)
    returned = sum(not bar.unknown for bar in bars)
    assert sum(drawn.count(end) for end in "┫┤") == returned
    assert sum(drawn.count(end) for end in "▶▷") == len(bars) - returned


def test_labels_are_whole_where_there_is_room():
    table, witness = many(40)
    drawn = witness_text(table, witness)
    for number in range(40):
        assert f" write({number}) " in drawn
    assert "(called" not in drawn


def test_what_was_cut_is_said_in_full():
    words = "x" * 70
    rows = [{"f": "write", "process": 2, "call": 0, "returned": 5, "argument": words}]
    rows += [{"f": "read", "process": 3, "call": 5, "returned": n} for n in range(6, 50)]
    table = OperationTable.from_rows(rows)
    drawn = witness_text(table, Witness(operations=list(range(40)), description=""), 80)
    assert (
        f"process 2: write('{words[:62]}\n"
        f"    {words[62:]}') (called position 0, returned position 5)\n"
    ) in drawn


def test_of_very_many_it_says_how_many_are_not_drawn():
    drawn = witness_text(*many(1_000))
    assert drawn.startswith(f"({1_000 - MOST_OPERATIONS} earlier operations are not drawn)")


def test_strangers_cannot_command_the_terminal():
    rows = [{"f": NASTY, "call": 0, "argument": NASTY, "result": NASTY, "key": NASTY}]
    table = OperationTable.from_rows(rows)
    witness = Witness(operations=[0], description=NASTY, prefix=[], stuck=0, states=[NASTY])
    assert all(line.isprintable() for line in witness_text(table, witness).splitlines())
