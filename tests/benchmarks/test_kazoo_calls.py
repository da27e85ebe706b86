"""Every public method of kazoo's recipes is called by something that is put on trial here.

No flaw can be seen of what nobody calls.
"""

from benchmarks.kazoo_calls import called_by, methods, trials
from tests.sampling import one_in


@one_in(8)
def test_every_method_is_called():
    called = called_by(list(trials()))
    assert [method for method in methods() if method not in called] == []


def test_every_class_is_looked_at():
    assert len(methods()) >= 60
