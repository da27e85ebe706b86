"""One replica's files: what is appended, sealed, filled, and found again on the disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.sealed_log.store_replica import Behind, NotTheWriter, Sealed, StoreReplica


class Disk:
    def __init__(self, content=b""):
        self.content = bytearray(content)

    def load(self):
        return StoreReplica(bytes(self.content), self.content.extend)


def append(replica, at, *entries, file="f", by="w"):
    return replica.append(file, "w", by, at, entries)


def test_entries_that_are_there_already_are_not_appended_again():
    replica = Disk().load()
    assert append(replica, 0, "a", "b") == 2
    assert append(replica, 1, "b", "c") == 3
    assert append(replica, 0, "a") == 3
    assert replica.copy("f").entries == ["a", "b", "c"]


def test_a_copy_has_no_gaps():
    replica = Disk().load()
    append(replica, 0, "a")
    with pytest.raises(Behind):
        append(replica, 2, "c")
    assert replica.copy("f").entries == ["a"]


def test_a_sealed_file_takes_no_appends_even_after_a_restart():
    disk = Disk()
    replica = disk.load()
    append(replica, 0, "a")
    assert replica.seal("f").entries == ["a"]
    for each in (replica, disk.load()):
        with pytest.raises(Sealed):
            append(each, 1, "b")
    assert disk.load().copy("f").entries == ["a"]


def test_a_file_can_be_sealed_before_its_first_entry_comes():
    disk = Disk()
    assert disk.load().seal("f").entries == []
    with pytest.raises(Sealed):
        append(disk.load(), 0, "a")


def test_only_the_writer_appends_even_after_a_restart():
    disk = Disk()
    append(disk.load(), 0, "a")
    with pytest.raises(NotTheWriter):
        append(disk.load(), 1, "b", by="v")
    fresh = Disk().load()
    with pytest.raises(NotTheWriter):
        append(fresh, 0, "b", by="v")
    assert append(fresh, 0, "a") == 1, "whoever came first did not become its writer"


def test_only_a_sealed_copy_is_filled():
    replica = Disk().load()
    append(replica, 0, "a")
    with pytest.raises(NotDone):
        replica.fill("f", ["a", "b"])
    replica.seal("f")
    replica.fill("f", ["a", "b"])
    replica.fill("f", ["a"])
    assert replica.copy("f").entries == ["a", "b"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from("fg"), st.integers(0, 4), st.integers(1, 3)),
        st.tuples(st.just("seal"), st.sampled_from("fg")),
        st.tuples(st.just("fill"), st.sampled_from("fg"), st.integers(0, 8)),
    ),
    max_size=12,
)


@given(STEPS, st.data())
def test_a_disk_shows_what_was_acknowledged_wherever_its_last_record_ends(steps, data):
    """Every value is its position, so all copies are prefixes of one sequence, as with one writer.

    The process may be killed while the last step is on its way to the disk: the journal then has
    any part of that.
    """
    disk = Disk()
    replica = disk.load()
    before, known = 0, {}
    for what, file, *more in steps:
        before = len(disk.content)
        known = {
            name: (replica.copy(name).sealed, len(replica.copy(name).entries)) for name in "fg"
        }
        try:
            if what == "append":
                at, count = more
                append(replica, at, *range(at, at + count), file=file)
            elif what == "seal":
                replica.seal(file)
            else:
                replica.fill(file, list(range(more[0])))
        except NotDone:
            continue
    end = data.draw(st.integers(before, len(disk.content)))
    for content in (disk.content, disk.content[:end]):
        again = Disk(content).load()
        for name, (sealed, length) in known.items():
            copy, present = again.copy(name), replica.copy(name)
            assert sealed <= copy.sealed <= present.sealed
            assert length <= len(copy.entries) <= len(present.entries)
            assert copy.entries == list(range(len(copy.entries)))
    assert Disk(disk.content).load().copy("f") == replica.copy("f")
