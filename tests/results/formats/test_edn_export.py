"""What is exported is read back as the same operations."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumpus.checker.deciders.operation_table import check_names
from rumpus.checker.history import History, Op
from rumpus.results.formats.edn_export import NotExportable, edn_history, in_order, porcupine_kv
from rumpus.results.formats.history_formats import detect_format, read_table
from tests.checker.deciders.table_definition import defined_table
from tests.checker.deciders.test_table_builder import attempt, op, records, same

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64) + 1, 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.sampled_from(['"', "\\", "\n\0\x1b", "\U0001f600", ":x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["key", "token", "value"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("exports") / "exported"


@given(records(VALUES))
def test_edn_is_read_back_as_the_same_operations(file, ops):
    history = History(ops)
    expected = attempt(lambda: defined_table(history))
    assume(not isinstance(expected, str))
    assume(attempt(lambda: check_names(expected)) is None)  # else the file is refused
    file.write_text("".join(edn_history(history)), encoding="utf-8", newline="")
    if len(expected):
        same(read_table(file, "edn"), expected)
        assert detect_format(file) == "edn"


@given(records(st.none()))
def test_the_order_in_the_file_is_one_of_time_and_of_each_process(ops):
    history = History(ops)
    ordered = list(in_order(history))
    assert sorted(map(repr, ordered)) == sorted(map(repr, ops))
    assert all(one.time <= other.time for one, other in pairwise(ordered))
    for process in {each.process for each in ops}:
        assert [each for each in ordered if each.process == process] == [
            each for each in history if each.process == process
        ]


def test_at_one_moment_calls_come_before_returns():
    ops = [
        op(1, 0, "invoke"),
        op(5, 0, "ok"),
        op(5, 1, "invoke"),
        op(5, 0, "invoke"),
        op(5, 1, "ok"),
        op(5, 2, "invoke"),
        op(9, 0, "ok"),
    ]
    told = [(each.process, each.type) for each in in_order(ops)]
    assert told == [
        (0, "invoke"),
        (1, "invoke"),
        (2, "invoke"),
        (0, "ok"),
        (0, "invoke"),
        (1, "ok"),
        (0, "ok"),
    ]


def test_how_it_looks():
    history = History(
        [
            op(1, 0, "invoke", "acquire", {"timeout": 5.0}),
            op(2, "nemesis", "invoke", "start", {"kind": "kill", "odd name": [True, None]}),
            op(3, 1, "invoke", "try acquire"),
            op(4, 0, "info", "acquire", None, 'no "answer"'),
            op(5, 1, "fail", "try acquire"),
        ]
    )
    assert "".join(edn_history(history)) == (
        "[{:index 1, :time 1, :process 0, :type :invoke, :f :acquire, :value {:timeout 5.0}}\n"
        " {:index 2, :time 2, :process :nemesis, :type :info, :f :start, "
        ':value {:kind "kill", "odd name" [true nil]}}\n'
        ' {:index 3, :time 3, :process 1, :type :invoke, :f "try acquire", :value nil}\n'
        " {:index 4, :time 4, :process 0, :type :info, :f :acquire, :value nil, "
        ':error "no \\"answer\\""}\n'
        ' {:index 5, :time 5, :process 1, :type :fail, :f "try acquire", :value nil, '
        ":refused true}]\n"
    )
    assert "".join(edn_history(History([]))) == "[]\n"


def keyed(time, process, kind, f, value, key="k"):
    return op(time, process, kind, f, {"key": key, "value": value})


def test_a_key_value_log():
    history = History(
        [
            keyed(1, 0, "invoke", "append", "a"),
            keyed(2, 1, "invoke", "get", None),
            op(3, "nemesis", "info", "start"),
            op(4, 0, "ok", "append"),
            keyed(5, 1, "ok", "get", "a"),
            keyed(6, 0, "invoke", "put", "b"),
            keyed(7, 1, "invoke", "get", None),
            op(8, 0, "fail", "put", None, "no connection"),
            op(9, 1, "info", "get", None, "no answer"),
            keyed(10, 2, "invoke", "get", None, key='q"'),
            keyed(11, 2, "ok", "get", None, key='q"'),
        ]
    )
    assert "".join(porcupine_kv(history)) == (
        '{:process 0, :type :invoke, :f :append, :key "k", :value "a"}\n'
        '{:process 1, :type :invoke, :f :get, :key "k", :value nil}\n'
        '{:process 0, :type :ok, :f :append, :key "k", :value "a"}\n'
        '{:process 1, :type :ok, :f :get, :key "k", :value "a"}\n'
        '{:process 1, :type :invoke, :f :get, :key "k", :value nil}\n'
        '{:process 2, :type :invoke, :f :get, :key "q\\"", :value nil}\n'
        '{:process 2, :type :ok, :f :get, :key "q\\"", :value ""}\n'
    )


@pytest.mark.parametrize(
    ("ops", "named"),
    [
        ([op(1, 0, "invoke", "acquire")], "record 1 calls acquire"),
        ([op(1, 0, "invoke", "put", "a")], "record 1: its key is None"),
        ([keyed(1, 0, "invoke", "put", "a", key=3)], "record 1: its key is 3"),
        ([keyed(1, 0, "invoke", "put", 7)], "record 1: its value is 7"),
        (
            [keyed(1, 0, "invoke", "get", None), keyed(2, 0, "ok", "get", ["a"])],
            r"record 2: its value is \['a'\]",
        ),
    ],
)
def test_what_a_key_value_log_has_no_word_for_is_named(ops, named):
    with pytest.raises(NotExportable, match=named):
        list(porcupine_kv(History(ops)))


def test_what_edn_has_no_word_for_is_named():
    with pytest.raises(NotExportable, match="object"):
        list(edn_history(History([Op(time=1, process=0, type="invoke", f="x", value=object())])))
