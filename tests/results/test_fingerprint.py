from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly
from rumpus.results.fingerprint import Fingerprint, fingerprint
from tests.checker.recorded import Recorded


def recorded():
    history = Recorded(clients=2).add(0, 0, "invoke", "acquire").add(1, 0, "ok", "acquire")
    history.add(2, "nemesis", "invoke", "start", {"id": 1, "kind": "kill", "targets": ["n1"]})
    return history.add(3, 1, "invoke", "release").add(4, 1, "info", "release").history()


def anomaly(*ops):
    return Anomaly(kind="split-brain", description="two", ops=list(ops))


def test_it_has_the_functions_of_the_operations_that_show_it():
    history = recorded()
    seen = fingerprint(history, anomaly(4, 1, 0))
    assert seen == Fingerprint(kind="split-brain", operations=("acquire", "release"))
    assert fingerprint(history, anomaly(3)).operations == ("release",)


def test_records_of_others_and_indices_that_do_not_exist_tell_nothing():
    assert fingerprint(recorded(), anomaly(2, 99)).operations == ()


def test_many_anomalies_do_not_each_go_through_the_whole_history(monkeypatch):
    history = recorded()
    fingerprint(history, anomaly(0))

    def again(*_, **__):
        raise AssertionError("the history is gone through again")

    monkeypatch.setattr(History, "operations", again)
    monkeypatch.setattr(History, "__iter__", again)
    assert fingerprint(history, anomaly(1)).operations == ("acquire",)
