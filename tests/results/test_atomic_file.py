import errno
import os
from pathlib import Path

import pytest

from rumpus.results.atomic_file import check_writable, inside, named_file, write_atomically
from rumpus.results.store_error import StoreError, UnreadableRun


def everything(place):
    return sorted(place.rglob("*"))


@pytest.mark.parametrize("name", ["new.json", "old.json", "a/b/new.json"])
def test_a_file_that_can_be_written_is_found_so_and_nothing_is_left(tmp_path, name):
    (tmp_path / "old.json").write_text("old")
    before = everything(tmp_path)
    check_writable(tmp_path / name, option="-o FILE")
    assert everything(tmp_path) == before
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("file/new.json", "a file stands where a directory is needed: remove it, or use -o FILE"),
        ("file/a/new.json", "a file stands where a directory is needed: remove it, or use -o FILE"),
        ("link/new.json", "check that the path exists"),
        (".", "a directory stands where a file is needed: remove it, or use -o FILE"),
        ("x" * 250, "(File name too long); check the path, or choose another place with -o FILE"),
    ],
)
def test_one_that_cannot_is_told_as_when_it_is_written(tmp_path, name, words):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("missing")
    before = everything(tmp_path)
    with pytest.raises(StoreError) as found:
        check_writable(tmp_path / name, option="-o FILE")
    assert str(found.value).endswith(words)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_folder_that_takes_no_files_is_told_with_the_option_that_chooses_another(
    tmp_path, monkeypatch, number
):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("rumpus.results.atomic_file._write_draft", refuse)
    for attempt in (
        check_writable,
        lambda path, option: write_atomically(path, b"", option=option),
    ):
        with pytest.raises(StoreError, match=r"or choose another place with --cases DIR$"):
            attempt(tmp_path / "it.json", option="--cases DIR")
    with pytest.raises(StoreError, match=r"or choose another place with --runs DIR$"):
        write_atomically(tmp_path / "it.json", b"")


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_is_not_replaced(tmp_path, name):
    """Nor is a device, which other programs have by its name."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    before = everything(tmp_path)
    for attempt in (
        check_writable,
        lambda path, option: write_atomically(path, b"", option=option),
    ):
        with pytest.raises(StoreError, match=r"a pipe or a device\); choose .* with -o FILE$"):
            attempt(tmp_path / name, option="-o FILE")
    assert everything(tmp_path) == before
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_a_link_that_the_user_names_stands_for_what_it_leads_to(tmp_path):
    place = tmp_path / "far" / "it.json"
    place.parent.mkdir()
    place.write_text("old")
    for link, target in (("first", "far/it.json"), ("second", "first"), ("nowhere", "missing")):
        (tmp_path / link).symlink_to(target)
    (tmp_path / "circle").symlink_to("circle")
    write_atomically(named_file(tmp_path / "second", option="-o FILE"), "new")
    assert (place.read_text(), (tmp_path / "second").is_symlink()) == ("new", True)
    assert everything(tmp_path / "far") == [place]
    for name in ("nowhere", "circle"):
        with pytest.raises(StoreError, match=r"leads nowhere\); remove it, or .* with -o FILE$"):
            named_file(tmp_path / name, option="-o FILE")
    for other in (tmp_path / "new", tmp_path / "far", tmp_path / ("x" * 300)):
        assert named_file(other, option="-o FILE") == other


def test_a_link_among_the_files_of_a_run_is_replaced(tmp_path):
    """Who has sent the run may have made it lead anywhere."""
    (tmp_path / "secret").write_text("old")
    (tmp_path / "report.html").symlink_to("secret")
    write_atomically(tmp_path / "report.html", "new")
    assert (tmp_path / "secret").read_text() == "old"
    assert not (tmp_path / "report.html").is_symlink()


def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path):
    mine, path = tmp_path / "mine", tmp_path / "report.html"
    mine.write_text("words of mine")
    draft = tmp_path / f".report.html.{os.getpid()}"
    draft.symlink_to(mine)
    write_atomically(path, "a report")
    draft.symlink_to(mine)
    check_writable(path, option="-o FILE")
    assert mine.read_text() == "words of mine"
    assert path.read_text() == "a report"
    assert not path.is_symlink()


def test_nothing_else_is_offered_where_there_is_no_option():
    error = OSError(errno.EACCES, "Permission denied")
    for told in (
        StoreError.from_os_error(Path("it"), "write it", error, option=""),
        UnreadableRun.from_os_error(Path("it"), "write it", error),
    ):
        assert str(told) == "it: cannot write it (Permission denied); make it accessible"


def test_a_file_in_a_directory_is_not_behind_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "given"
    assert inside(place, "a/b/c.json", option="--output DIR") == place / "a" / "b" / "c.json"
    assert (place / "a" / "b").is_dir()
    (place / "cases").symlink_to(tmp_path / "elsewhere")
    for name in ("cases/x.json", "cases/moved/x.json"):
        with pytest.raises(StoreError, match="symbolic link"):
            inside(place, name, option="--output DIR")
    assert list((tmp_path / "elsewhere").iterdir()) == []
