"""Which records a client can have made as which process, in the order of the file."""

import pytest

from rumpus.checker.history import History, Op
from rumpus.checker.timeline.processes_of_clients import (
    miscounted_operations,
    unexplained_processes,
)


def history(*words):
    """Of two clients; each record is ``process type`` or ``exited|started client process``."""
    records = []
    for index, text in enumerate(words):
        what, *rest = text.split()
        if what in ("exited", "started"):
            client, process = map(int, rest)
            value = {"client": client, "process": process}
            told = {"process": "session", "type": "info", "f": what, "value": value}
        else:
            told = {"process": int(what), "type": rest[0], "f": "add"}
        records.append(Op(index=index, time=index, **told))
    return History(records, clients=2)


@pytest.mark.parametrize(
    "records",
    [
        ["0 invoke", "1 invoke", "0 ok", "0 invoke", "1 fail", "0 info", "2 invoke", "2 ok"],
        ["0 invoke", "0 info", "0 invoke", "0 ok", "2 invoke"],  # with a clean-up
        ["0 invoke", "0 info", "0 invoke", "0 info", "2 invoke"],
        ["0 invoke", "exited 0 0", "0 info", "started 0 2", "2 invoke"],
        ["exited 0 0", "0 invoke", "0 info", "started 0 2", "2 invoke"],  # told after its end
        ["exited 1 1", "started 1 3", "exited 1 3", "started 1 5", "5 invoke"],
        ["0 invoke", "0 info", "exited 0 2", "started 0 4", "4 invoke"],
        ["0 invoke", "0 info", "exited 0 0", "started 0 2", "2 invoke"],  # before its clean-up
    ],
)
def test_what_the_control_process_writes_is_explained(records):
    assert list(unexplained_processes(history(*records))) == []


@pytest.mark.parametrize(
    ("records", "at"),
    [
        (["0 invoke", "0 ok", "2 invoke"], 2),  # the operation that ended unknown was cut out
        (["0 invoke", "0 info", "0 invoke", "0 ok", "0 invoke"], 4),
        (["exited 0 0", "started 0 2", "0 invoke"], 2),  # a dead process
        (["exited 0 0", "2 invoke"], 1),  # before its beginning
        (["0 invoke", "exited 0 0", "0 ok"], 2),
        (["exited 0 0", "started 0 4"], 1),
        (["started 0 2"], 0),
        (["1 invoke", "1 ok", "exited 1 3"], 2),
    ],
)
def test_what_it_cannot_have_written_is_told(records, at):
    (words,) = unexplained_processes(history(*records))
    assert words.startswith(f"record {at} (")


def test_counts_of_completions():
    records = [
        Op(index=0, time=0, process=0, type="invoke", f="add"),
        Op(index=1, time=1, process=0, type="ok", f="add"),
    ]

    def told(value):
        end = Op(index=2, time=2, process="control", type="info", f="end", value=value)
        return list(miscounted_operations(History([*records, end], clients=1)))

    assert told({"ok": [1]}) == []
    (words,) = told({"ok": [1], "fail": [3]})
    assert "3 operations of c0 ended with fail" in words
    assert told({}) == told(None) == []  # an older run
    (words,) = told({"ok": [2]})
    assert words == (
        "by the count at the run's end, 2 operations of c0 ended with ok, but the history has 1"
    )
