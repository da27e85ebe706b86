"""Texts put together of pieces are taken apart again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.registers.pieces import ListPieces, StringPieces


@given(st.lists(st.text("ab", max_size=4), max_size=12))
def test_a_text_is_taken_apart_into_the_pieces_it_was_made_of(words):
    pieces = [f"{word}." for word in words]
    apart = StringPieces(pieces).apart(f"xy{''.join(pieces)}", 2)
    assert apart.pieces == pieces
    assert [end - 2 for end in apart.ends] == [
        len("".join(pieces[:count])) for count in range(1, len(pieces) + 1)
    ]
    assert apart.left is None


@given(st.lists(st.text("ab", min_size=1, max_size=3)), st.text("ab", max_size=8))
def test_pieces_are_found_if_and_only_if_they_stand_there(words, text):
    begun = any(one != other and other.startswith(one) for one in words for other in words)
    if begun:
        with pytest.raises(ValueError, match="begins the piece"):
            StringPieces(words)
        return
    standing = [word for word in set(words) if text.startswith(word)]
    assert [StringPieces(words).first(text)] == (standing or [None])


def test_what_is_left_begins_where_nothing_known_stands():
    assert StringPieces(["ab", "c"]).apart("abcab?c") == (["ab", "c", "ab"], [2, 3, 5], 5)
    assert ListPieces([1, 2]).apart((0, 1, 2, 7, 1), 1) == ([1, 2], [2, 3], 3)
    assert ListPieces([1, 2]).apart((0, 1, 2), 1) == ([1, 2], [2, 3], None)
    assert StringPieces([]).apart("") == ([], [], None)
