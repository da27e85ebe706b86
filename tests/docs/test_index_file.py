"""What ``rumpus list`` prints is what is declared."""

from docs.generators.index_file import index_file
from rumpus.catalogue.index import FILE


def test_the_index_has_what_is_declared():
    assert FILE.read_text(encoding="utf-8") == index_file(), "python -m docs.generators.index_file"
