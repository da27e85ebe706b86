"""Files of lines that strangers made."""

import tracemalloc

import pytest

from rumpus.checker.untrusted_file import LONGEST_LINE, UnfitFile, read_lines
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.run_files import read_wire


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", None),
        (b"12345\n12345\n", None),
        (b"12345\n12345", None),
        (b"1\n123456\n1\n", 2),
        (b"123456", 1),
        (b"\n\n\n123456", 4),
        (b"1\n12345\n1234567890\n", 3),
    ],
)
def test_a_line_has_a_length(tmp_path, content, wrong):
    path = tmp_path / "lines"
    path.write_bytes(content)
    if wrong is None:
        assert read_lines(path, 100, 5) == content
    else:
        with pytest.raises(UnfitFile, match=f"line {wrong} has more than 5 bytes"):
            read_lines(path, 100, 5)


def test_a_sparse_file_is_refused_before_it_is_in_memory(tmp_path):
    run = RunDirectory(tmp_path)
    run.wire.write_bytes(b"")
    with run.wire.open("r+b") as file:
        file.truncate(1_000_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableRun, match="line 1 has more than 16,777,216 bytes"):
            read_wire(run)
        assert tracemalloc.get_traced_memory()[1] < LONGEST_LINE
    finally:
        tracemalloc.stop()
