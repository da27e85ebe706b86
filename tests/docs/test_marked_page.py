import pytest

from docs.generators.marked_page import table_row, with_part

BEGIN, END = "<!-- figures -->\n", "<!-- /figures -->\n"


def test_what_stands_around_the_part_stays():
    made = with_part(f"# Page\n\n{BEGIN}of yesterday\n{END}\nafter\n", "figures", "of today\n")
    assert made == f"# Page\n\n{BEGIN}\nof today\n\n{END}\nafter\n"
    assert with_part(made, "figures", "of today\n") == made


@pytest.mark.parametrize("page", ["", BEGIN, END + BEGIN, BEGIN + END + BEGIN + END])
def test_a_page_without_its_place_is_refused(page):
    with pytest.raises(ValueError, match="one place for its figures"):
        with_part(page, "figures", "")


def test_a_cell_cannot_end_its_cell_or_its_row():
    assert table_row(["a|b", "two\nlines"]) == "| a\\|b | two lines |"
