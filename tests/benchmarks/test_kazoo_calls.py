"""What of kazoo's recipes nobody calls is known, so that it is not taken for sound."""

from benchmarks.kazoo_calls import called_by, methods, trials
from tests.sampling import one_in

NOBODY = {
    "cache.TreeCache.close",
    "cache.TreeCache.listen",
    "cache.TreeCache.listen_fault",
    "counter.Counter.__sub__",
    "lease.MultiNonBlockingLease.__bool__",
    "watchers.ChildrenWatch.__call__",
    "watchers.DataWatch.__call__",
}
"""A method that joins these was called once; one that is called now has to leave them."""


@one_in(4)
def test_what_nobody_calls_is_known():
    called = called_by(list(trials()))
    assert {method for method in methods() if method not in called} == NOBODY


def test_every_class_is_looked_at():
    assert len(methods()) >= 55
    assert set(methods()) >= NOBODY
