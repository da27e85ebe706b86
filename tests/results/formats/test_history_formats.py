"""Every format is read as what it says; what is none is refused with file, line and remedy."""

import gzip
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK
from rumpus.checker.deciders.values import freeze
from rumpus.results import history_file
from rumpus.results.formats.edn_history import NO_REASON, read_edn_records
from rumpus.results.formats.history_formats import FORMATS, detect_format, read_table
from rumpus.results.history_file import read_history
from rumpus.results.store_error import UnreadableRun
from tests.sampling import sampled

GOLDEN = Path(__file__).parents[4] / "shared" / "histories"

JSONL = b"""\
{"index":0,"time":10,"process":0,"type":"invoke","f":"write","value":1,"error":null}
{"index":1,"time":20,"process":0,"type":"ok","f":"write","value":1,"error":null}
"""
EDN = b"""\
; Two clients
[{:process 0, :type :invoke, :f :write, :value 1}
 {:process :nemesis, :type :info, :f :start, :value "Cut off [:n1 #[:n2]]"}
 {:process 1, :type :invoke, :f :cas, :value [1 2]}
 {:process 0, :type :ok, :f :write, :value 1}
 {:process 1, :type :fail, :f :cas, :value [1 2]}]
"""
ETCD = b"""\
INFO  jepsen.util - 0\t:invoke\t:write\t1
INFO  jepsen.core - something else happened
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]
INFO  jepsen.util - 2\t:invoke\t:read\tnil
INFO  jepsen.util - 0\t:info\t:write\t:timed-out
INFO  jepsen.util - 1\t:fail\t:cas\t[1 2]
INFO  jepsen.util - 2\t:fail\t:read\t:timed-out
INFO  jepsen.util - 2\t:invoke\t:read\tnil
INFO  jepsen.util - 2\t:ok\t:read\t1
"""
KV = b"""\
{:process 9, :type :invoke, :f :append, :key "0", :value "x 9 0 y"}
{:process 1, :type :invoke, :f :get, :key "0", :value nil}
{:process 1, :type :ok, :f :get, :key "0", :value "x 9 0 y"}
"""
SAMPLES = {"jsonl": JSONL, "edn": EDN, "porcupine-etcd": ETCD, "porcupine-kv": KV}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def rows(table):
    returned = [None if at == NEVER else at for at in table.returned.tolist()]
    return list(
        zip(
            table.process.tolist(),
            [table.function(row) for row in range(len(table))],
            table.argument,
            table.result,
            table.outcome.tolist(),
            table.call.tolist(),
            returned,
            strict=True,
        )
    )


def test_jsonl(file):
    assert rows(read_table(file(JSONL), "jsonl")) == [(0, "write", 1, 1, OK, 10, 20)]


def test_edn_without_times_takes_the_place_in_the_file(file):
    table = read_table(file(EDN), "edn")
    assert rows(table) == [
        (0, "write", 1, 1, OK, 0, 3),
        (1, "cas", (1, 2), None, FAIL, 2, 4),
    ]
    assert table.index.tolist() == [0, 2]


def test_a_failure_in_edn_is_no_answer_unless_it_says_so(file):
    assert not read_table(file(EDN), "edn").refused.any()
    said = EDN.replace(b":fail,", b":fail, :refused true,")
    assert read_table(file(said), "edn").refused.tolist() == [False, True]
    errors = [op.error for piece in read_edn_records(file(EDN)) for op in piece]
    assert errors == [None, None, None, None, NO_REASON]


def test_edn_with_times_and_indices_and_tags(file):
    table = read_table(
        file(
            b"#jepsen.history.Op{:index 4, :time 70, :process 3, :type :invoke, :f :read}\n"
            b"#jepsen.history.Op{:index 9, :time 95, :process 3, :type :info, :f :read,"
            b' :error [:timeout "n1"]}'
        ),
        "edn",
    )
    assert rows(table) == [(3, "read", None, None, INFO, 70, None)]
    assert (table.index.tolist(), table.completion.tolist()) == ([4], [9])


def test_what_else_is_said_of_an_operation_becomes_a_column(file):
    table = read_table(
        file(
            b"{:process 0 :type :invoke :f :write :key :x :value {:value 7, :version 2} :node 1}"
            b"{:process 1 :type :invoke :f :write :key :y :value {:a 1} :latency 5}"
        ),
        "edn",
    )
    assert list(table.field("key")) == ["x", "y"]
    assert list(table.field("version")) == [2, None]
    assert list(table.argument) == [7, freeze({"a": 1})]
    assert "latency" not in table.fields


def test_the_log_of_etcd(file):
    table = read_table(file(ETCD), "porcupine-etcd")
    assert rows(table) == [
        (0, "write", 1, None, INFO, 0, None),
        (1, "cas", (1, 2), None, FAIL, 2, 5),
        (2, "read", None, None, FAIL, 3, 6),
        (2, "read", None, 1, OK, 7, 8),
    ]
    assert table.refused.tolist() == [False, True, False, False]


def test_the_log_of_etcd_with_blanks_between_its_columns(file):
    blanks = file(ETCD.replace(b"\t", b"   ").replace(b"nil\n", b"nil  \n"))
    assert detect_format(blanks) == "porcupine-etcd"
    assert rows(read_table(blanks, "porcupine-etcd")) == rows(
        read_table(file(ETCD, "tabs"), "porcupine-etcd")
    )


def test_the_key_value_log(file):
    table = read_table(file(KV), "porcupine-kv")
    assert rows(table) == [
        (9, "append", "x 9 0 y", None, INFO, 0, None),
        (1, "get", None, "x 9 0 y", OK, 1, 2),
    ]
    assert list(table.field("key")) == ["0", "0"]
    with pytest.raises(UnreadableRun, match="it calls cas, write"):
        read_table(file(EDN), "porcupine-kv")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n\n"])
@pytest.mark.parametrize("suffix", [".jsonl", ".edn", ".log", ""])
def test_the_content_tells_the_format(file, name, before, suffix):
    path = file(before + SAMPLES[name], f"history{suffix}")
    assert detect_format(path) == name
    windows = file(before + SAMPLES[name].replace(b"\n", b"\r\n"), f"windows{suffix}")
    assert detect_format(windows) == name
    if before != b"\n\n" or name != "jsonl":
        assert rows(read_table(windows, name)) == rows(read_table(path, name))


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\0\0\0", gzip.compress(JSONL), b"12"])
def test_what_is_none_of_them_is_told(file, content):
    assert detect_format(file(content)) is None


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("jsonl", JSONL + b"{}\n", "line 3"),
        ("jsonl", JSONL + JSONL, "line 3"),
        ("jsonl", JSONL.replace(b'"time":10', b'"time":1' + b"0" * 30), "time is too large"),
        ("jsonl", JSONL.splitlines(keepends=True)[1], "record 1.*without having called it"),
        ("jsonl", b"", "no operations of clients"),
        ("edn", b"[]", "no operations of clients"),
        ("edn", EDN[:-3], "line 6.*cut off"),
        ("edn", EDN[: len(EDN) // 2], "line 4.*cut off"),
        ("edn", EDN + b"[]", "line 7.*more after the end"),
        ("edn", b"\n[1]", "line 2.*a record is a map"),
        ("edn", b"[{:type :ok}]", "line 1.*:process is nil"),
        ("edn", b"{:process 1 :type :oops :f :x}", "line 1.*:type is oops"),
        ("edn", b"{:process 1 :type :ok :f 7}", "line 1.*:f is 7"),
        ("edn", b"{:process 1 :type :ok :f :x :index -1}", ":index is -1"),
        (
            "edn",
            b"{:process 1 :type :invoke :f :x :index 3} {:process 1 :type :ok :f :x :index 2}",
            ":index is 2, after 3 of the same process",
        ),
        ("edn", b"{:process 1 :type :ok :f :x :time 1.5}", ":time is 1.5"),
        (
            "edn",
            b"{:process 1 :type :invoke :f :x :time 1}\n{:process 1 :type :ok :f :x}",
            "line 2",
        ),
        ("edn", b"{:process 1 :type :invoke :f :x :value " + b"[" * 60 + b"]" * 60 + b"}", None),
        ("edn", b"{:process 1" + b"0" * 18 + b" :type :invoke :f :x}", "process is too large"),
        ("porcupine-etcd", ETCD[:-3], "line 10"),
        ("porcupine-etcd", ETCD + b"INFO  jepsen.u", "line 11"),
        ("porcupine-etcd", ETCD + b"\0" * 10**6, "line 11"),
        ("porcupine-etcd", ETCD.replace(b"[1 2]", b"[1 2 3]"), "line 4"),
        ("porcupine-etcd", ETCD.replace(b"\t1\n", b"\t" + b"1" * 10**5 + b"\n"), "line 1"),
        ("jsonl", JSONL.replace(b'"process":0', b'"process":"0"'), "line 1.*process is '0'"),
        ("jsonl", JSONL.replace(b'"process":0', b'"process":"session"'), "line 1.*session is of"),
        ("jsonl", JSONL.replace(b'"type":"ok"', b'"type":"okay"'), "line 2"),
        ("jsonl", JSONL.replace(b'"ok","f":"write"', b'"ok","f":"read"'), "record 1.*write is ope"),
        ("edn", EDN.replace(b":process 1", b':process "1"'), "line 4.*process is '1'"),
        ("edn", EDN.replace(b":process 1", b":process :nemesis"), "line 6.*nemesis is of type"),
        ("edn", EDN.replace(b":ok, :f :write", b":ok, :f :cas"), "record 3.*write is open"),
        ("porcupine-kv", KV.replace(b":process 1", b":process :one"), "line 2.*process is 'one'"),
        ("porcupine-kv", KV.replace(b':ok, :f :get, :key "0"', b":ok, :f :get, :key 0"), "key 0"),
        ("porcupine-kv", KV.replace(b'get, :key "0"', b"get, :key 0"), "record 1: its key 0 is of"),
        (
            "porcupine-kv",
            KV + KV.split(b"\n", 1)[1].replace(b':key "0",', b""),
            "record 3: get has no key",
        ),
        ("porcupine-etcd", ETCD.replace(b"2\t:ok", b":two\t:ok"), "line 10"),
        ("porcupine-etcd", ETCD.replace(b":ok\t:read", b":ok\t:cas"), "record 8.*read is open"),
    ],
    ids=range(37),
)
def test_what_is_broken_is_refused(file, name, content, named):
    path = file(content)
    if named is None:
        assert len(read_table(path, name)) == 1
        return
    with pytest.raises(UnreadableRun, match=f"(?s){named}") as error:
        read_table(path, name)
    assert str(path) in str(error.value)
    assert error.value.remedy


@pytest.mark.parametrize("name", FORMATS)
def test_pipes_and_directories_and_nothing_are_refused(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nothing", Path("/dev/zero")):
        with pytest.raises(UnreadableRun):
            read_table(path, name)
        with pytest.raises(UnreadableRun):
            detect_format(path)


@sampled("name", FORMATS, of=4)
def test_a_line_of_ten_gigabytes_takes_little_memory(tmp_path, name):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(SAMPLES[name])
        file.truncate(10 << 30)
    program = (
        "import resource, sys; from pathlib import Path;"
        f"resource.setrlimit(resource.RLIMIT_AS, (1 << 30, {resource.RLIM_INFINITY}));"
        "from rumpus.results.formats.history_formats import read_table\n"
        "from rumpus.results.store_error import *\n"
        "try: read_table(Path(sys.argv[1]), sys.argv[2])\n"
        "except UnreadableRun as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, path, name]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "line " in said.stdout, said


def test_memory_has_an_end(file, monkeypatch):
    monkeypatch.setattr(history_file, "MOST_MEMORY", 1 << 20)
    with pytest.raises(UnreadableRun, match="more than 1 MiB of memory; judge it in parts"):
        read_table(file(JSONL), "jsonl")
    with pytest.raises(UnreadableRun, match="more than 1 MiB of memory; judge it in parts"):
        read_history(file(JSONL))


LINES = [line for sample in SAMPLES.values() for line in sample.splitlines(keepends=True)]


@given(st.sampled_from(sorted(FORMATS)), st.randoms(use_true_random=False))
def test_whatever_is_put_there_is_a_table_or_refused(directory, name, rng: random.Random):
    """Lines of all formats, cut and with bytes changed."""
    content = bytearray(
        b"".join(rng.choice(LINES) if rng.random() < 0.3 else SAMPLES[name] for _ in range(3))
    )
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(content))
        content[at : at + rng.randrange(3)] = rng.choice(
            [b"", b"\0", b"[", b"{", b'"', b"}", b"\xff", b"\n", b"9" * 40, b"#", b"^", b":"]
        )
    path = directory / "any"
    path.write_bytes(bytes(content))
    try:
        detect_format(path)
        table = read_table(path, name)
    except UnreadableRun as error:
        assert str(path) in str(error)  # noqa: PT017 - most of them are
    else:
        assert len(table)


@given(st.sampled_from(sorted(FORMATS)), st.binary(max_size=50))
def test_any_bytes_are_a_table_or_refused(directory, name, content):
    path = directory / "bytes"
    path.write_bytes(content)
    detect_format(path)
    with pytest.raises(UnreadableRun):
        read_table(path, name)  # 50 bytes are no whole operation


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the histories of others are not at hand")
def test_histories_of_others_are_in_the_format_that_they_are_said_to_be():
    expected = {"porcupine-etcd": "*.log", "porcupine-kv": "*.txt", "knossos": "**/*.edn"}
    for folder, pattern in expected.items():
        files = sorted((GOLDEN / folder).glob(pattern))
        assert files
        for path in files:
            name = detect_format(path)
            assert name == (folder if folder != "knossos" else "edn")
            assert len(read_table(path, name))
