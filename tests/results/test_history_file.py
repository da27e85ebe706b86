import json
import os
import resource
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op, wrong_process
from rumpus.results import history_file
from rumpus.results.history_file import (
    MAX_LINE,
    HistoryWriter,
    PackedOp,
    encode_record,
    read_history,
    read_records,
)
from rumpus.results.store_error import StoreError, UnreadableRun


def op(time, process=0, type="invoke", f="acquire", value=None, error=None):  # noqa: A002 - the field's name
    return Op(time=time, process=process, type=type, f=f, value=value, error=error)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
OPS = st.builds(
    op,
    time=st.integers(0, 2**62),
    process=st.integers(0, 9) | st.sampled_from(["nemesis", "session", "control"]),
    type=st.sampled_from(["invoke", "ok", "fail", "info"]),
    f=st.sampled_from(["acquire", "release", "end"]),
    value=VALUES,
    error=st.none() | st.text(max_size=9),
).filter(lambda each: wrong_process(each) is None)


def written(path, ops):
    with HistoryWriter(path) as writer:
        return [writer.append(each) for each in ops]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("histories")


@given(st.lists(OPS, max_size=6), st.data())
def test_cut_at_any_byte_it_loads_the_whole_records_before_the_cut(directory, ops, data):
    path = directory / "history.jsonl"
    path.unlink(missing_ok=True)
    ops = written(path, ops)
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    whole = ops[: content[: cut + 1].count(b"\n")]  # the last one may lack its newline
    history = read_history(path)
    assert list(history) == sorted(whole, key=lambda each: each.time)
    ended = bool(whole) and whole[-1].process == "control" and whole[-1].f == "end"
    assert history.truncated is not ended


@given(OPS)
def test_a_line_leaves_out_what_is_null_and_reads_back_equal(record):
    numbered = msgspec.structs.replace(record, index=7)
    line = encode_record(numbered)
    kept = [name for name in ("value", "error") if getattr(record, name) is not None]
    assert list(json.loads(line)) == ["index", "time", "process", "type", "f", *kept]
    assert msgspec.json.decode(line, type=Op) == numbered


def test_numbers_records_and_reads_them_back(tmp_path):
    path = tmp_path / "history.jsonl"
    ops = written(path, [op(5, value={"a": 1}), op(9, "control", "info", "end")])
    assert [each.index for each in ops] == [0, 1]
    assert path.read_text() == (
        '{"index":0,"time":5,"process":0,"type":"invoke","f":"acquire",'
        '"value":{"a":1}}\n'
        '{"index":1,"time":9,"process":"control","type":"info","f":"end"}\n'
    )
    history = read_history(path, clients=3)
    assert list(history) == ops
    assert (history.clients, history.truncated) == (3, False)


def test_batches_reach_the_system_at_flush_or_when_the_oldest_waited_long_enough(tmp_path):
    now = 0
    path = tmp_path / "history.jsonl"
    writer = HistoryWriter(path, clock=lambda: now)
    writer.append(op(1))
    assert path.stat().st_size == 0
    writer.flush()
    assert len(read_history(path)) == 1
    writer.append(op(2))
    now = 100_000_001
    writer.append(op(3))
    assert len(read_history(path)) == 3
    writer.append(op(4))
    writer.close()
    writer.close()
    assert len(read_history(path)) == 4


def test_does_not_overwrite_a_history(tmp_path):
    path = tmp_path / "history.jsonl"
    written(path, [op(1)])
    with pytest.raises(StoreError, match="stands in its place"):
        HistoryWriter(path)
    assert len(read_history(path)) == 1


def test_when_the_disk_refuses_it_says_so_once_and_keeps_whole_records(tmp_path):
    path = tmp_path / "history.jsonl"
    writer = HistoryWriter(path)
    writer.append(op(1))
    writer.flush()
    room = path.stat().st_size * 5 // 2
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        for time in (2, 3, 4):
            writer.append(op(time))
        with pytest.raises(StoreError, match="write the history") as error:
            writer.flush()
        assert writer.append(op(5)).index == 4
        writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert writer.broken
    assert error.value.path == path
    assert [each.time for each in read_history(path)] == [1, 2]
    assert path.read_bytes().endswith(b"}\n")


def test_a_full_disk_tells_to_free_space(tmp_path, monkeypatch):
    writer = HistoryWriter(tmp_path / "history.jsonl")
    writer.append(op(1))
    with monkeypatch.context() as patch:

        def no_space(*_):
            raise OSError(28, "No space left on device")

        patch.setattr(os, "write", no_space)
        with pytest.raises(StoreError, match="free some space"):
            writer.flush()
    writer.close()


def test_refuses_values_that_json_has_no_word_for_and_goes_on(tmp_path):
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:
        with pytest.raises(TypeError):
            writer.append(op(1, value=object()))
        assert writer.append(op(2)).index == 0
    assert [each.time for each in read_history(path)] == [2]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\x00\x00",
        b"[1]",
        b'{"time": 1, "process": 0, "type": "maybe", "f": "acquire"}',
        b'{"time": 1, "process": true, "type": "ok", "f": "acquire"}',
        b'{"time": 1.5, "process": 0, "type": "ok", "f": "acquire"}',
        b'{"time": 1, "process": 0, "type": "ok"}',
        b'{"time": 1, "process": 0, "type": "ok", "f": "\xff"}',
        b'{"time": 1, "process": 0, "type": "ok", "f": "x", "value": ' + b"[" * 100_000 + b"}",
        b'{"index": 0, "time": 1, "process": 0, "type": "ok", "f": "x"}',
    ],
    ids=range(10),
)
def test_a_malformed_line_is_an_error_that_names_file_and_line(tmp_path, line):
    path = tmp_path / "history.jsonl"
    written(path, [op(1)])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(UnreadableRun, match="line 2 is not a record") as error:
        read_history(path)
    assert str(path) in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "it is empty"),
        (b" \t", "it is empty"),
        (rb'{"value":"a\\\ud83d"}', r"\\ud83d is half of a character"),
        (rb'{"value":"\ud83d\ude00', "truncated"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(tmp_path, line, why):
    path = tmp_path / "history.jsonl"
    written(path, [op(1)])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(UnreadableRun, match=rf"line 2 is not a record .*{why}"):
        read_history(path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"index":1,"time":2,"process":0,"type":"ok","type":"info","f":"x"}',
        b'{"index":1,"time":2,"process":0,"type":"ok","\\u0074ype":"info","f":"x"}',
        b'{"index":1,"time":2,"process":0,"process":1,"type":"ok","f":"x"}',
        b'{"index":1,"time":2,"process":0,"type":"ok","f":"x","value":{"type":1,"type":2}}',
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path, line):
    path = tmp_path / "history.jsonl"
    written(path, [op(1)])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(UnreadableRun, match=r"line 2 .*the key '(type|process)' twice"):
        list(read_records(path))


def test_the_same_key_in_a_record_and_in_its_value_is_no_repetition(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'{"time":2,"process":0,"type":"ok","f":"x","value":{"type":"\\u0061"}}\n' * 2)
    assert [len(piece) for piece in read_records(path)] == [2]


def test_a_line_without_bound_is_refused_without_reading_it_all(tmp_path):
    path = tmp_path / "history.jsonl"
    with path.open("wb") as file:
        file.truncate(40 * MAX_LINE)  # sparse: zeros, no newline
    with pytest.raises(UnreadableRun, match=r"line 1 .*longer than"):
        read_history(path)


def test_a_record_too_long_to_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(history_file, "MAX_LINE", 200)
    with (
        HistoryWriter(tmp_path / "history.jsonl") as writer,
        pytest.raises(ValueError, match="too long"),
    ):
        writer.append(op(1, value="x" * 200))


def test_records_without_index_are_numbered_by_line(tmp_path):
    path = tmp_path / "by-hand.jsonl"
    path.write_text('{"time": 1, "process": 0, "type": "invoke", "f": "acquire"}\n' * 2)
    assert [each.index for each in read_history(path)] == [0, 1]


def test_a_missing_history_is_an_unreadable_run():
    with pytest.raises(UnreadableRun, match="check that the path exists"):
        read_history(Path("nowhere.jsonl"))


def test_a_byte_order_mark_and_carriage_returns_make_no_difference(tmp_path):
    path = tmp_path / "history.jsonl"
    ops = written(path, [op(1), op(2, type="ok")])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert list(read_history(path)) == ops


def test_records_come_in_pieces_under_their_indices(tmp_path, monkeypatch):
    monkeypatch.setattr(history_file, "_PIECE", 150)
    path = tmp_path / "history.jsonl"
    ops = written(path, [op(time) for time in range(10)])
    pieces = list(read_records(path))
    assert len(pieces) > 1
    assert [each for piece in pieces for each in piece] == ops
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:5], b"\n", *lines[5:]]))
    with pytest.raises(UnreadableRun, match="line 6 is not a record"):
        list(read_records(path))
    path.write_bytes(b"".join([*lines, lines[4]]))
    with pytest.raises(UnreadableRun, match=r"line 11 .*index 4 after index 9"):
        list(read_records(path))


def test_a_line_too_long_is_named_wherever_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(history_file, "_PIECE", 150)
    monkeypatch.setattr(history_file, "MAX_LINE", 400)
    path = tmp_path / "history.jsonl"
    written(path, [op(1), op(2), op(3)])
    short = path.read_bytes()
    for tail in (b"", b"\n", b"\n" + short):
        path.write_bytes(short + b" " * 401 + tail)
        with pytest.raises(UnreadableRun, match=r"line 4 .*longer than"):
            list(read_records(path))


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableRun, match="it is a pipe or a device"):
        read_history(tmp_path / "pipe")
    with pytest.raises(UnreadableRun, match="it is a directory"):
        read_history(tmp_path)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\n01').map(str.encode))
def test_any_bytes_are_a_history_or_an_error_in_words(directory, content):
    path = directory / "bytes.jsonl"
    path.write_bytes(content)
    try:
        records = len(read_history(path))
    except UnreadableRun:
        records = 0
    assert records <= content.count(b'"f"')


def test_values_are_kept_as_json_and_are_what_was_written(tmp_path):
    path = tmp_path / "history.jsonl"
    values = [{"token": number, "accepted": True} for number in range(2000)]
    written(path, [op(time, value=value) for time, value in enumerate([*values, None, 7, "x"])])
    history = read_history(path)
    assert [each.value for each in history] == [*values, None, 7, "x"]
    last = history[1999]
    assert isinstance(last, PackedOp)
    assert last.value is not last.value
    assert last == Op(
        index=1999, time=1999, process=0, type="invoke", f="acquire", value=values[-1]
    )
    assert last != msgspec.structs.replace(last, value={"token": 1})
    assert msgspec.structs.replace(last, time=5).value == values[-1]


def test_a_number_that_would_be_rounded_is_refused_and_what_programs_print_is_not(tmp_path):
    """Else two numbers that differ in the file would be one to every model."""
    path = tmp_path / "history.jsonl"
    line = '{"process":0,"type":"invoke","f":"add","time":1,"value":%s}\n'
    kept = (0.0, -0.0, 0.1, 1e300, 0.1 + 0.2, 2**53 + 0.0, 1 / 3, -5e-324)
    path.write_text("".join(line % repr(number) for number in kept))
    (ops,) = read_records(path)
    assert [op.value for op in ops] == list(kept)
    for text in (
        "9007199254740993.0",
        "0.30000000000000001",
        "1e999",
        "-1e999",
        "1e-400",
        "4e-324",
    ):
        path.write_text(line % text)
        with pytest.raises(UnreadableRun, match="would be rounded to"):
            list(read_records(path))
