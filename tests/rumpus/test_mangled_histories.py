"""A history that lies by its form is refused or stays a violation: it never becomes valid."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.decide import count_answered, decide
from rumpus.checker.deciders.registry import MODELS
from rumpus.results.formats.history_formats import read_table
from rumpus.results.store_error import UnreadableRun

STALE = 6, 7
"""The records of the read that makes the history a violation."""

RECORDS = [
    {"process": 0, "type": "invoke", "f": "write", "value": 1, "key": "x"},
    {"process": 0, "type": "ok", "f": "write", "value": 1, "key": "x"},
    {"process": 0, "type": "invoke", "f": "write", "value": 2, "key": "x"},
    {"process": 0, "type": "ok", "f": "write", "value": 2, "key": "x"},
    {"process": 2, "type": "invoke", "f": "read", "value": None, "key": "x"},
    {"process": 2, "type": "ok", "f": "read", "value": 2, "key": "x"},
    {"process": 1, "type": "invoke", "f": "read", "value": None, "key": "x"},
    {"process": 1, "type": "ok", "f": "read", "value": 1, "key": "x"},
]


def as_jsonl(records):
    lines = []
    for number, record in enumerate(records):
        own = dict(record)
        own["value"] = {name: own.pop(name) for name in ("key", "value") if name in own}
        lines.append(json.dumps({"index": number, "time": 10 * number, **own}) + "\n")
    return "".join(lines)


def in_edn(value):
    if value is None:
        return "nil"
    return json.dumps(value) if isinstance(value, (int, float, str)) else str(value)


def as_edn(records):
    return "".join(
        "{" + ", ".join(f":{name} {in_edn(value)}" for name, value in record.items()) + "}\n"
        for record in records
    )


def as_etcd(records):
    def word(record):
        process = record["process"]
        value = "nil" if record["value"] is None else record["value"]
        named = process if isinstance(process, (int, float)) else f":{process}"
        return f"INFO  jepsen.util - {named} :{record['type']} :{record['f']} {value}\n"

    return "".join(map(word, records))


WRITERS = {"jsonl": as_jsonl, "edn": as_edn, "porcupine-etcd": as_etcd}


def verdict(directory, name, records):
    """Valid, not, or refused; in the words of ``rumpus check --model``."""
    path = directory / "history"
    path.write_text(WRITERS[name](records))
    try:
        table = read_table(path, name)
        decision = decide(MODELS["cas-register"], table)
    except (UnreadableRun, ValueError):
        return "refused"
    if decision.valid is True and not count_answered(MODELS["cas-register"], table):
        return "nothing"
    return decision.valid


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("mangled")


@pytest.mark.parametrize("name", WRITERS)
def test_the_history_is_a_violation_by_its_stale_read_alone(directory, name):
    assert verdict(directory, name, RECORDS) is False
    assert verdict(directory, name, RECORDS[: STALE[0]]) is True


def named(**fields):
    return lambda record: {**record, **fields}


def without(field):
    return lambda record: {name: value for name, value in record.items() if name != field}


MANGLERS = {
    "process as text": lambda record: {**record, "process": str(record["process"])},
    "process of another": named(process="oracle"),
    "process of the nemesis": named(process="nemesis"),
    "process of a session": named(process="session"),
    "process as a fraction": named(process=1.5),
    "process below zero": named(process=-1),
    "type unknown": named(type="okay"),
    "function unknown": named(f="READ"),
    "key as a number": named(key=7),
    "no key": without("key"),
    "no process": without("process"),
    "no type": without("type"),
}
OF_KEYS = {"key as a number", "no key"}
EVERYWHERE = sorted(set(MANGLERS) - OF_KEYS)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("mangler", MANGLERS)
def test_a_stale_read_that_lies_by_its_form_is_refused(directory, name, mangler):
    if name == "porcupine-etcd" and (mangler in OF_KEYS or mangler.startswith("no ")):
        pytest.skip("a log of etcd has no such fields")
    mangled = [
        MANGLERS[mangler](record) if number in STALE else record
        for number, record in enumerate(RECORDS)
    ]
    assert verdict(directory, name, mangled) == "refused"


@given(st.data(), st.sampled_from(sorted(WRITERS)))
def test_records_mangled_in_form_never_make_a_violation_valid(directory, data, name):
    """Any records of an operation, or the order in which calls and completions stand."""
    kinds = EVERYWHERE if name == "porcupine-etcd" else sorted(MANGLERS)
    if name == "porcupine-etcd":
        kinds = [kind for kind in kinds if not kind.startswith("no ")]
    records = [dict(record) for record in RECORDS]
    for number in data.draw(st.sets(st.integers(0, len(records) - 1), max_size=4)):
        records[number] = MANGLERS[data.draw(st.sampled_from(kinds))](records[number])
    shape = data.draw(st.sampled_from(["as it is", "call gone", "call twice", "answer twice"]))
    call = data.draw(st.sampled_from(range(0, len(records), 2)))
    if shape == "call gone":
        del records[call]
    elif shape == "call twice":
        records.insert(call, records[call])
    elif shape == "answer twice":
        records.insert(call + 1, records[call + 1])
    mangled = records != RECORDS
    found = verdict(directory, name, records)
    assert found is False or (mangled and found == "refused")


def test_the_command_names_the_line(rumpus, tmp_path):
    path = Path(tmp_path / "history.jsonl")
    text = [{**record, "process": str(record["process"])} for record in RECORDS[STALE[0] :]]
    path.write_text(as_jsonl([*RECORDS[: STALE[0]], *text]))
    answer = rumpus("check", path, "--model", "register")
    assert (answer.code, answer.out) == (2, "")
    assert "line 7 is not a record of a history (its process is '1'" in answer.err
