"""Every kind of document that rumpus reads: examples, how it is written, and what follows.

What follows a reader is called as the program calls it: ``main`` with a command line where there is
a command that costs little, else the functions behind it. It returns whether the reader took the
document. An exception that is no refusal is a defect.
"""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from rumpus.campaigns.case import decode_case
from rumpus.campaigns.findings import Found
from rumpus.campaigns.looks import Failure
from rumpus.campaigns.merging import Part, campaign, told_of
from rumpus.campaigns.rulings import Rulings
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.history import Op
from rumpus.checker.linearizability import search
from rumpus.command_line import main
from rumpus.history_check import decided
from rumpus.model_choice import fitting_models
from rumpus.nemesis.plan import PlanError, decode_plan, encode_plan
from rumpus.nights.documents.document import to_json
from rumpus.nights.documents.joining import load_night
from rumpus.nights.documents.night_junit import night_junit
from rumpus.nights.documents.summary import summary
from rumpus.nights.night_file import night_file_of
from rumpus.project_settings import find_settings
from rumpus.results.first_record import FirstRecord
from rumpus.results.formats.edn_export import NotExportable, edn_history
from rumpus.results.formats.history_formats import read_table
from rumpus.results.history_file import read_history
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import StoreError
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError
from rumpus.workloads.registry import WORKLOADS
from tests.rumpus.conftest import record, turns
from tests.rumpus.lone_histories import LONE
from tests.rumpus.nights.documents import document as night_document
from tests.rumpus.nights.documents import failed
from tests.torture import stores

REFUSALS = (UsageError, PlanError, StoreError)
BUDGET_S = 2.0
CASES = Path(__file__).parents[2] / "cases"


@dataclass(frozen=True)
class Kind:
    """A kind of document.

    Attributes:
        examples: as plain data.
        follow: writes one into an empty directory, reads it, and goes on; whether it was read.
    """

    examples: list[Any]
    follow: Callable[[Any, Path], bool]


class DefectError(AssertionError):
    """The program did what it may never do."""


def command(*words: Any) -> tuple[int, str]:
    """Call the program; its exit code and what it printed.

    Raises:
        DefectError: it ended with a defect.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    if code not in range(5) or "Traceback" in err.getvalue():
        raise DefectError(f"exit code {code}: {err.getvalue()[-400:]}")
    return code, out.getvalue()


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def check_history(records: list[Any], place: Path) -> bool:
    path = place / "alone.jsonl"
    path.write_text(lines(records))
    return command("check", path, "--json")[0] != 2


def check_model(records: list[Any], place: Path) -> bool:
    """Two readers of one history, and the two implementations of the search, decide alike."""
    path, edn = place / "alone.jsonl", place / "alone.edn"
    path.write_text(lines(records))
    try:
        table = read_table(path, "jsonl")
        history = read_history(path)
    except REFUSALS:
        return False
    models = fitting_models(call.f for call, _ in history.operations())
    for name in [each for each in models if each in MODELS][:2]:
        first = _decided(name, table)
        with patch.object(search, "C", None):
            _same(name, "plain Python", first, _decided(name, table))
        try:
            edn.write_text("".join(edn_history(history)))
            again = read_table(edn, "edn")
        except (NotExportable, *REFUSALS, UnicodeEncodeError):
            continue
        _same(name, "EDN", first, _decided(name, again))
    return True


def _decided(name: str, table: Any) -> str:
    try:
        return str(decided(MODELS[name], table, None, BUDGET_S).valid)
    except (WrongOperations, UsageError):
        return "refused"


def _same(model: str, way: str, one: str, other: str) -> None:
    if one != other and "unknown" not in (one, other):
        raise DefectError(f"{model}: {one}, but by {way} {other}")


def read_porcupine(records: list[Any], place: Path) -> bool:
    """A log of Porcupine's key-value store, and the same in our format, are decided alike."""
    path, ours = place / "history.edn", place / "alone.jsonl"
    plain = [each for each in records if isinstance(each, dict)]
    path.write_text(
        "".join(
            "{" + ", ".join(f":{name} {_edn(name, value)}" for name, value in each.items()) + "}\n"
            for each in plain
        ),
        errors="replace",
    )
    try:
        first = _decided("append", read_table(path, "edn"))
    except REFUSALS:
        return False
    ours.write_text(lines([_ours(time, each) for time, each in enumerate(plain)]))
    try:
        again = _decided("append", read_table(ours, "jsonl"))
    except REFUSALS:
        return True  # a type of values that the other format does not have
    _same("append", "JSONL", first, again)
    return True


def _ours(time: int, told: dict[str, Any]) -> dict[str, Any]:
    """A line of such a log in our format."""
    value = {"key": told.get("key"), "value": told.get("value")}
    if (told.get("type"), told.get("f")) == ("invoke", "get"):
        del value["value"]  # the log has an empty one
    return {"time": time, **{k: told.get(k) for k in ("process", "type", "f")}, "value": value}


def _edn(name: str, value: Any) -> str:
    return f":{value}" if name in ("type", "f") else json.dumps(value)


def take_plan(document: Any, _: Path) -> bool:
    try:
        plan = decode_plan(json.dumps(document).encode(), nodes=3, clients=5, time_limit=30)
    except REFUSALS:
        return False
    if decode_plan(encode_plan(plan), nodes=3, clients=5) != plan:
        raise DefectError("a plan that is written is another one")
    return True


def take_case(document: Any, _: Path) -> bool:
    try:
        case = decode_case(json.dumps(document).encode(), "a.case.json")
    except REFUSALS:
        return False
    if decode_case(case.to_json(), "b.case.json").task() != case.task():
        raise DefectError("a case that is written is another one")
    case.name()
    return True


def merge_parts(document: Any, place: Path) -> bool:
    paths = []
    for number, each in enumerate(document if isinstance(document, list) else [document]):
        paths.append(place / f"{number}.json")
        paths[-1].write_text(json.dumps(_with_what_follows(each)))
    if not paths:
        return False
    return command("merge", *paths, "--json", "--cases", place / "cases")[0] != 2


def _with_what_follows(document: Any) -> Any:
    """A part with what is printed beside it, where that can be said: else no change is taken."""
    try:
        return {**document, **told_of(msgspec.convert(document["part"], Part))}
    except (msgspec.ValidationError, UsageError, LookupError, TypeError, ValueError):
        return document  # nothing follows from what a fuzzer has made of it


def take_project(document: Any, place: Path) -> bool:
    (place / "pyproject.toml").write_text(_toml("tool.rumpus", document), errors="replace")
    try:
        settings = find_settings(place)
    except REFUSALS:
        return False
    settings.defaults_of("lock")
    return True


def _toml(name: str, table: Any) -> str:
    plain = {k: v for k, v in table.items() if not isinstance(v, dict) and v is not None}
    text = f"[{name}]\n" + "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in plain.items())
    inner = [(k, v) for k, v in table.items() if isinstance(v, dict)]
    return text + "".join(_toml(f"{name}.{json.dumps(key)}", value) for key, value in inner)


def take_night(document: Any, place: Path) -> bool:
    path = place / "night.json"
    path.write_text(json.dumps(document))
    try:
        night = load_night(path)
    except REFUSALS:
        return False
    summary(night)
    night_junit(night)
    to_json(night)
    return True


def take_night_file(document: Any, _: Path) -> bool:
    try:
        _ = night_file_of(document, "n.toml").seconds
    except REFUSALS:
        return False
    return True


def take_store(document: Any, place: Path) -> bool:
    store, _ = stores.example()
    path = place / "nights.sqlite"
    if not (isinstance(document, dict) and stores.written(store, document, path)):
        return False
    try:
        stores.read_all(path)
    except REFUSALS:
        return False
    return command("nights", "--store", path, "--json")[0] != 2


def check_run(document: Any, place: Path) -> bool:
    """A run's description and history, and the seal made again."""
    run = RunDirectory(place / "run")
    run.path.mkdir()
    run.nodes.mkdir()
    run.record.write_text(json.dumps(document.get("record")))
    run.history.write_text(lines(document.get("history") or []))
    run.seal()
    return command("check", run.path, "--json")[0] != 2


def _histories() -> list[Any]:
    """Two histories of each workload, with the first record that says whose they are."""
    found = []
    for name, pair in LONE.items():
        recipe, kind = next(iter(WORKLOADS[name].recipes.items()))
        for story in pair[:2]:
            told = FirstRecord(
                workload=name,
                recipe=recipe,
                promises=kind.promises,
                clients=story.clients,
                session_timeout=2.0,
            )
            ops = [
                Op(time=1, process="control", type="info", f="test", value=told.value()),
                *story.ops,
                Op(time=10**9, process="control", type="info", f="end"),
            ]
            found.append([_plain(op) for op in ops])
    return found


def _plain(op: Op) -> Any:
    """A record as in a file, without its number: it may be put anywhere."""
    return {name: each for name, each in msgspec.to_builtins(op).items() if name != "index"}


def _parts() -> list[Any]:
    """Two parts of an exploration, one with a failure."""
    case = decode_case((CASES / "mutants/lock/persistent-node.case.json").read_bytes(), "c")
    settings = RunSettings(argv=(), workload="lock", seed=1)
    asked = campaign(
        settings, plan=None, seeds=3, profile=None, shrink=0, known=(), rulings=Rulings()
    )
    failure = Failure(seed=0, fingerprint=case.expects, kinds=case.plan.kinds)
    part = {
        "version": 3,
        "index": 0,
        "of": 2,
        "campaign": asked,
        "interrupted": False,
        "runs": 5,
        "short_runs": 1,
        "virtual_seconds": 9.0,
        "cpu_seconds": 1.0,
        "outcomes": {"valid": 4, "violation": 1},
        "short_outcomes": {"valid": 1},
        "signatures": [5, 77],
        "accepted": 0,
        "deaths": [],
        "errors": [],
        "failures": msgspec.to_builtins([failure]),
        "taken": [0],
        "made": msgspec.to_builtins([Found(case=case, failure=failure, operations=9)]),
    }
    nothing = {"outcomes": {"valid": 5}, "failures": [], "taken": [], "made": []}
    empty = {**part, "index": 1, **nothing}
    return [[{"runs": 5, "part": part}, {"runs": 5, "part": empty}]]


def _cases() -> list[Any]:
    return [json.loads(path.read_text()) for path in sorted(CASES.glob("mutants/*/*.json"))[::9]]


def _puts() -> list[Any]:
    return [
        [
            {"process": process, "type": kind, "f": f, "key": f"{turn % 2}", "value": value}
            for turn in range(8)
            for process, kind, f, value in (
                (0, "invoke", "put", f"x{turn}"),
                (1, "invoke", "append", f"y{turn}"),
                (0, "ok", "put", f"x{turn}"),
                (1, "ok", "append", f"y{turn}"),
                (0, "invoke", "get", ""),
                (0, "ok", "get", f"x{turn}y{turn}"),
            )
        ]
    ]


def _projects() -> list[Any]:
    return [
        {
            "recipes": {"mine": {"workload": "lock", "recipe": "my.locks:Lock", "promises": []}},
            "workloads": {"ours": "my.work:Load"},
            "faults": {"flood": "my.faults:Flood"},
            "private": ["mine"],
            "defaults": {"clients": 4, "time-limit": 9.5, "lock": {"nodes": 5, "strict": True}},
        },
        {
            "recipes": {"another": {"workload": "queue", "recipe": "a.b:Queue", "promises": []}},
            "workloads": {"theirs": "their.own.work:Load"},
            "faults": {"storm": "weather:Storm", "flood": "weather:Flood"},
            "private": ["theirs", "weather"],
            "defaults": {"nodes": 3, "seed": 7, "queue": {"clients": 9, "nemesis": ["pause"]}},
        },
    ]


def _night_files() -> list[Any]:
    job = {"workloads": ["lock"], "recipes": "built-in", "options": {"clients": 4}, "weight": 2.0}
    command = {"name": "tests", "run": ["make", "test"], "timeout": "90s"}
    canaries = {"share": 0.1, "families": ["lock"], "own": False}
    return [
        {
            "version": 1,
            "budget": "30m",
            "cases": ["cases"],
            "shrink": 0.2,
            "jobs": [job],
            "commands": [command],
            "canaries": canaries,
            "owners": {"mine": "team"},
        }
    ]


def _runs() -> list[Any]:
    """Whole runs, as recorded by hand: one without faults, and one whose fault never began."""
    story = turns(6)
    pause = {"id": 1, "at": 1.0, "kind": "client-pause", "targets": {"names": ["c1"]}}
    found = []
    for entries in ([], [{**pause, "duration": 0.5, "options": {}}]):
        plan = {"version": 1, "entries": entries, "notes": ["made up"]}
        told = record(recipe="fair", clients=story.clients, plan=plan, versions={"kazoo": "2"})
        ops = [_plain(op) for op in story.ops]
        found.append({"record": json.loads(msgspec.json.encode(told)), "history": ops})
    return found


def kinds() -> dict[str, Kind]:
    """All kinds, by name."""
    histories, cases = _histories(), _cases()
    night = json.loads(to_json(night_document(troubles=("usage",), failures=(failed(),))))
    return {
        "histories": Kind(histories, check_history),
        "histories under models": Kind(histories, check_model),
        "Porcupine logs": Kind(_puts(), read_porcupine),
        "plans": Kind([each["plan"] for each in cases], take_plan),
        "cases": Kind(cases, take_case),
        "parts of explorations": Kind(_parts(), merge_parts),
        "tables of projects": Kind(_projects(), take_project),
        "nights": Kind([night], take_night),
        "files of nights": Kind(_night_files(), take_night_file),
        "stores of nights": Kind([stores.example()[1]], take_store),
        "run directories": Kind(_runs(), check_run),
    }
