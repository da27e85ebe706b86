import sys

from hypothesis import given
from hypothesis import strategies as st

from rumpus.simulation.kernel.trace import Trace

ATOMS = st.one_of(
    st.integers(), st.text(), st.binary(), st.booleans(), st.none(), st.floats(allow_nan=False)
)
ENTRIES = st.lists(st.one_of(ATOMS, st.tuples(ATOMS, ATOMS)))


def digest(entries, flush_after=()):
    trace = Trace()
    for number, entry in enumerate(entries):
        trace.append(entry)
        if number in flush_after:
            trace.flush()
    return trace.digest()


@given(ENTRIES, st.sets(st.integers(0, 20)))
def test_when_it_is_flushed_does_not_matter(entries, flush_after):
    assert digest(entries) == digest(entries, flush_after)


@given(ENTRIES, ENTRIES)
def test_other_entries_have_another_digest(one, other):
    same = repr(one) == repr(other)
    assert (digest(one) == digest(other)) == same


def test_interned_and_shared_values_are_like_any_other():
    fresh = b"interned name".decode()
    interned = sys.intern(b"interned name".decode())
    shared = (1, "x")
    assert digest([fresh, (1, "x"), (1, "x")]) == digest([interned, shared, shared])


def test_what_happened_can_be_kept():
    trace = Trace(keep=True)
    trace.append("a")
    trace.flush()
    trace.append(("b", 2))
    assert trace.kept == ["a", ("b", 2)]
    assert not Trace().kept
