"""What a power failure leaves, by the journal that the preloaded library writes."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.harness.docker.image import build_context
from rumpus.harness.docker.unsynced import Files, after_power_failure, differences, steps

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")

ACTIONS = """
import os, sys
place, script = sys.argv[1], sys.argv[2].split()
open_files = {}
for word in script:
    do, _, what = word.partition(":")
    name, _, rest = what.partition(":")
    path = f"{place}/{name}"
    if do == "write":  # at the end
        if name not in open_files:
            open_files[name] = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        os.write(open_files[name], rest.encode())
    elif do == "over":  # at the beginning
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        os.pwrite(file, rest.encode(), 0)
        os.close(file)
    elif do == "whole":
        with open(path, "w") as file:
            file.write(rest)
    elif do == "cut":
        file = os.open(path, os.O_RDWR)
        os.ftruncate(file, int(rest))
        os.close(file)
    elif do == "sync":
        file = os.open(path, os.O_RDWR)
        try:
            os.fsync(file)
        except OSError as error:
            assert error.errno == 5, error
        os.close(file)
    elif do == "rename":
        os.rename(path, f"{place}/{rest}")
    elif do == "remove":
        os.unlink(path)
    elif do == "trouble":
        with open(os.environ["RUMPUS_DISK"] + "/trouble", "w") as file:
            file.write(what.replace("_", " "))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library, as an image's build makes it."""
    made = tmp_path_factory.mktemp("library") / "disk.so"
    source = build_context() / "disk.c"
    words = f"gcc -O2 -Wall -Werror -shared -fPIC -o {made} {source} -ldl -lpthread"
    subprocess.run(words.split(), check=True)
    return made


class Disk:
    """A directory that programs change under the library's eyes."""

    def __init__(self, library, place: Path) -> None:
        self.library, self.files, self.notes = library, place / "files", place / "notes"
        self.roots = f"/nowhere:{self.files}"
        self.files.mkdir(parents=True)
        self.notes.mkdir()

    def do(self, script: str) -> None:
        environment = os.environ | {
            "LD_PRELOAD": str(self.library),
            "RUMPUS_DISK": str(self.notes),
            "RUMPUS_DISK_ROOTS": self.roots,
        }
        command = [sys.executable, "-c", ACTIONS, str(self.files), script]
        subprocess.run(command, check=True, env=environment)

    def found(self) -> Files:
        found = Files()
        for path in self.files.iterdir():
            inode = path.stat().st_ino
            found.names[path.name] = inode
            found.contents[inode] = path.read_bytes()
        return found

    def steps(self):
        return [
            step._replace(path=Path(step.path).name, second=Path(step.second).name)
            for step in steps((self.notes / "journal").read_bytes())
        ]

    def lost(self, random, later=0):
        """What a power failure leaves after so many seconds: name -> content."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + later * 10**9
        return after_power_failure(self.found(), self.steps(), now, random)


class Nothing(Random):
    """Keeps nothing that need not be kept."""

    def randint(self, a, _):
        return a


class Everything(Random):
    def randint(self, _, b):
        return b


@pytest.fixture
def disk(library, tmp_path):
    return Disk(library, tmp_path)


def kept(disk, later=0):
    """Name -> content, if all is lost that can be."""
    return disk.lost(Nothing(), later).files.by_path()


@needs_compiler
def test_what_was_synced_stays_and_the_rest_may_go(disk):
    disk.do("write:log:one sync:log write:log:two over:log:X")
    assert disk.found().by_path() == {"log": b"Xnetwo"}
    assert kept(disk) == {"log": b"one"}
    assert disk.lost(Everything()).files.by_path() == {"log": b"Xnetwo"}
    assert disk.lost(Nothing())[1:] == (2, 0)


@needs_compiler
@pytest.mark.parametrize(
    ("script", "safe"),
    [
        ("write:a:1", {}),
        ("write:a:1 write:b:2 sync:b", {"a": b"", "b": b"2"}),
        ("write:a:1 sync:a rename:a:b", {"a": b"1"}),
        ("write:a:1 sync:a write:b:22 sync:b rename:a:b", {"a": b"1", "b": b"22"}),
        ("write:a:1 sync:a remove:a", {"a": b"1"}),
        ("write:a:1 sync:a remove:a whole:a:2", {"a": b"1"}),
        ("write:a:123 sync:a cut:a:1", {"a": b"123"}),
        ("write:a:123 sync:a cut:a:9", {"a": b"123"}),
        ("write:a:123 sync:a cut:a:1 sync:a", {"a": b"1"}),
        ("write:a:123 sync:a whole:a:4", {"a": b"123"}),
        ("write:a:1 trouble:lying sync:a", {}),
        ("write:a:1 sync:a write:a:22 trouble:failing sync:a", {"a": b"1"}),
        ("write:a:1 trouble:failing sync:a trouble: write:a:2 sync:a", {"a": b"\x002"}),
        ("write:a:12 trouble:failing sync:a trouble: over:a:3 sync:a", {"a": b"3\0"}),
        ("write:a:1 trouble:lying sync:a trouble: sync:a", {"a": b"1"}),
    ],
)
def test_names_and_contents(disk, script, safe):
    disk.do(script)
    assert kept(disk) == safe


@needs_compiler
def test_names_are_safe_after_a_while(disk):
    disk.do("write:a:1 sync:a rename:a:b")
    assert kept(disk, later=4) == {"a": b"1"}
    assert kept(disk, later=6) == {"b": b"1"}


@needs_compiler
def test_contents_are_safe_after_a_longer_while(disk):
    disk.do("write:a:1 sync:a write:a:2")
    assert kept(disk, later=29) == {"a": b"1"}
    assert kept(disk, later=31) == {"a": b"12"}


@needs_compiler
def test_a_slow_disk(disk):
    began = time.monotonic()
    disk.do("trouble:slow_300000 write:a:1 sync:a")
    assert time.monotonic() - began > 0.3
    assert kept(disk) == {"a": b"1"}


@needs_compiler
def test_other_directories_are_none_of_its_business(disk):
    disk.roots = "/nowhere"
    disk.do("write:a:1 sync:a remove:a")
    assert not (disk.notes / "journal").exists()


NAMES = st.sampled_from("abc")
TEXT = st.text("xyz", min_size=1, max_size=9)
PIECES = st.tuples(st.sampled_from(["write", "sync"]), NAMES, TEXT)


@needs_compiler
@given(st.lists(PIECES, min_size=1, max_size=12), st.integers(0, 99))
def test_at_any_moment_a_file_is_between_its_last_sync_and_its_end(
    library, tmp_path_factory, pieces, seed
):
    """Of a program that overwrites nothing, each file is a prefix that no shorter sync bounds."""
    disk = Disk(library, tmp_path_factory.mktemp("disk"))
    script, whole, safe = [], {}, {}
    for do, name, text in pieces:
        if do == "write":
            whole[name] = whole.get(name, "") + text
        elif do != "sync" or name not in whole:
            continue
        else:
            safe[name] = len(whole[name])
        script.append(f"{do}:{name}:{text}")
    if not script:
        return
    disk.do(" ".join(script))
    left = disk.lost(Random(seed)).files.by_path()
    for name, length in safe.items():
        assert len(left[name]) >= length
    for name, content in left.items():
        assert whole[name].encode().startswith(content)


def test_a_journal_that_breaks_off():
    assert steps(b"") == []
    assert steps(b"C" + bytes(20)) == []
    with pytest.raises(ValueError, match="no record at byte 0"):
        steps(b"?" * 100)


def test_what_has_to_be_written():
    before = {"a": b"1", "b": b"2", "c": b"3"}
    assert differences(before, {"a": b"1", "b": b"x", "d": b"4"}) == {
        "b": b"x",
        "c": None,
        "d": b"4",
    }
