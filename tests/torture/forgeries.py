"""What a forger does to a run's directory: a part is changed, and the seal made again.

Each takes the run and the directory of another run of the same kind, and says whether it found
anything to change. Whatever it was, the verdict has to stay open then: what is left contradicts
itself.
"""

import json
import shutil
from collections.abc import Callable
from typing import Any

import msgspec

from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.results.run_directory import RunDirectory

Record = dict[str, Any]
Forgery = Callable[[RunDirectory, RunDirectory], bool]

FORGERIES: dict[str, Forgery] = {}


def forgery(forge: Forgery) -> Forgery:
    FORGERIES[forge.__name__.replace("_", " ")] = forge
    return forge


def forge(name: str, run: RunDirectory, other: RunDirectory) -> bool:
    """Change a run, and seal it as if it had always been so."""
    changed = FORGERIES[name](run, other)
    run.seal()
    return changed


def kept(run: RunDirectory, keep: Callable[[Record], bool], *, numbered: bool = True) -> bool:
    """Drop records; those that stay are numbered anew, so that nothing seems to be missing."""
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    kept = [record for record in records if keep(record)]
    for index, record in enumerate(kept):
        if numbered:
            record["index"] = index
    run.history.write_text("".join(json.dumps(record) + "\n" for record in kept))
    return len(kept) < len(records)


def told(run: RunDirectory, **fields: Any) -> bool:
    document = json.loads(run.record.read_text())
    run.record.write_text(json.dumps({**document, **fields}))
    return any(document[name] != value for name, value in fields.items())


@forgery
def no_end(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: (record["process"], record["f"]) != ("control", "end"))


@forgery
def no_promises(run: RunDirectory, _: RunDirectory) -> bool:
    promises = json.loads(run.record.read_text())["promises"]
    return told(run, promises={**promises, "prevents": []})


@forgery
def an_unknown_recipe_without_promises(run: RunDirectory, _: RunDirectory) -> bool:
    return _renamed(run, "nowhere.locks:Lock", prevents=[])


@forgery
def another_recipe_with_its_promises(run: RunDirectory, _: RunDirectory) -> bool:
    """One that promises less about wake-ups."""
    return _renamed(run, "unfair", **msgspec.to_builtins(LOCKS["unfair"].recipe.promises))


def _renamed(run: RunDirectory, recipe: str, **promises: Any) -> bool:
    """Say that another recipe was run, in the history, too."""
    first, *rest = run.history.read_text().splitlines(keepends=True)
    test = json.loads(first)
    test["value"] |= {"recipe": recipe, "promises": {**test["value"]["promises"], **promises}}
    run.history.write_text("".join([json.dumps(test) + "\n", *rest]))
    return told(run, recipe=recipe, promises=test["value"]["promises"])


@forgery
def no_faults_could_be_chosen(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, nemesis=[])


@forgery
def no_plan(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, plan=None)


@forgery
def no_fault_happened(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: record["process"] != "nemesis" or record["f"] == "heal-all")


@forgery
def one_server(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, nodes=1)


@forgery
def one_client(run: RunDirectory, _: RunDirectory) -> bool:
    return told(run, clients=1)


@forgery
def one_client_to_both(run: RunDirectory, _: RunDirectory) -> bool:
    return _clients(run, 1)


def _clients(run: RunDirectory, number: int) -> bool:
    """Say of how many clients the run was, in the history, too."""
    first, *rest = run.history.read_text().splitlines(keepends=True)
    test = json.loads(first)
    test["value"]["clients"] = number
    run.history.write_text("".join([json.dumps(test) + "\n", *rest]))
    return told(run, clients=number)


@forgery
def a_client_erased(run: RunDirectory, _: RunDirectory) -> bool:
    clients = json.loads(run.record.read_text())["clients"]

    def keep(record: Record) -> bool:
        process, value = record["process"], record.get("value")
        if isinstance(process, int):
            return process % clients != 1
        return not (isinstance(value, dict) and value.get("client") == 1)

    return kept(run, keep)


@forgery
def an_hour_later(run: RunDirectory, _: RunDirectory) -> bool:
    return _moved(run, 3_600 * 1_000_000_000)


@forgery
def two_seconds_later(run: RunDirectory, _: RunDirectory) -> bool:
    return _moved(run, 2_000_000_000)


@forgery
def two_seconds_earlier(run: RunDirectory, _: RunDirectory) -> bool:
    return _moved(run, -2_000_000_000)


@forgery
def one_server_without_files(run: RunDirectory, _: RunDirectory) -> bool:
    for place in sorted(run.nodes.glob("*/version-2"))[:1]:
        shutil.rmtree(place)
    return True


@forgery
def no_files_of_servers(run: RunDirectory, _: RunDirectory) -> bool:
    shutil.rmtree(run.nodes, ignore_errors=True)
    return True


@forgery
def a_log_of_one_server_emptied(run: RunDirectory, _: RunDirectory) -> bool:
    first = min(run.nodes.glob("*/version-2/log.*"), default=None)
    if first is None:
        return False
    first.write_bytes(b"")
    first.with_name("log.ffffffff").write_bytes(b"")
    return True


@forgery
def another_line(run: RunDirectory, _: RunDirectory) -> bool:
    line = json.loads(run.record.read_text())["line"]
    return line is not None and told(run, line=line | {"path": "/rumpus/elsewhere"})


@forgery
def three_days_later(run: RunDirectory, _: RunDirectory) -> bool:
    return _moved(run, 3 * 86_400_000_000_000)


def _moved(run: RunDirectory, ns: int) -> bool:
    anchors = json.loads(run.record.read_text())["clock_anchors"]
    for anchor in anchors:
        anchor["wall"] += ns
    return told(run, clock_anchors=anchors)


@forgery
def one_reading_of_the_clocks_changed(run: RunDirectory, _: RunDirectory) -> bool:
    anchors = json.loads(run.record.read_text())["clock_anchors"]
    if not anchors:
        return False
    anchors[-1]["monotonic"] += 10**9
    return told(run, clock_anchors=anchors)


@forgery
def the_logs_of_another_run(run: RunDirectory, other: RunDirectory) -> bool:
    shutil.rmtree(run.nodes, ignore_errors=True)
    shutil.copytree(other.nodes, run.nodes)
    return True


@forgery
def logs_cut_short(run: RunDirectory, _: RunDirectory) -> bool:
    for log in run.nodes.glob("*/version-2/log.*"):
        data = log.read_bytes().rstrip(b"\0")
        log.write_bytes(data[: len(data) * 19 // 20])
    return True


@forgery
def no_actions(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: record["process"] != "witness")


@forgery
def an_action_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    dropped = False

    def keep(record: Record) -> bool:
        nonlocal dropped
        first = record["process"] == "witness" and not dropped
        dropped = dropped or first
        return not first

    return kept(run, keep)


@forgery
def no_watch_events(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: (record["process"], record["f"]) != ("link", "watch"))


@forgery
def no_link_records(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: record["process"] != "link")


@forgery
def no_sessions(run: RunDirectory, _: RunDirectory) -> bool:
    return kept(run, lambda record: record["process"] != "session")


@forgery
def a_session_dropped(run: RunDirectory, _: RunDirectory) -> bool:
    """The second session of a client, with all that it was told of it."""
    seen: dict[int, list[str]] = {}
    for line in run.history.read_text().splitlines():
        value = json.loads(line).get("value")
        if json.loads(line)["process"] == "session" and value.get("session"):
            of_client = seen.setdefault(value["client"], [])
            if value["session"] not in of_client:
                of_client.append(value["session"])
    later = {session for sessions in seen.values() for session in sessions[1:]}

    def keep(record: Record) -> bool:
        value = record.get("value")
        return record["process"] != "session" or value.get("session") not in later

    return kept(run, keep)


@forgery
def records_cut_out(run: RunDirectory, _: RunDirectory) -> bool:
    """Some operations in the middle, without numbering the rest anew."""
    middle = run.history.read_text().count("\n") // 2
    cut = range(middle, middle + 40)
    return kept(
        run,
        lambda record: record["index"] not in cut or not isinstance(record["process"], int),
        numbered=False,
    )


@forgery
def records_of_leaders_cut_out(run: RunDirectory, _: RunDirectory) -> bool:
    """No operation misses them."""
    return kept(
        run,
        lambda record: (record["process"], record["f"]) != ("control", "leader"),
        numbered=False,
    )


@forgery
def a_sixth_client_to_both(run: RunDirectory, _: RunDirectory) -> bool:
    return _clients(run, 6)


@forgery
def an_action_made_up(run: RunDirectory, _: RunDirectory) -> bool:
    """One more at the witness, before anybody held."""
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    orders = [r["value"]["order"] for r in records if r["process"] == "witness"]
    action = {"client": 0, "process": 0, "order": len(orders), "accepted": True, "token": None}
    made_up = {**records[0], "process": "witness", "f": "act", "value": action}
    records.insert(1, made_up)
    for index, record in enumerate(records):
        record["index"] = index
    run.history.write_text("".join(json.dumps(record) + "\n" for record in records))
    return True


@forgery
def another_kind_of_fault_planned(run: RunDirectory, _: RunDirectory) -> bool:
    plan = json.loads(run.record.read_text())["plan"]
    if not plan or not plan.get("entries"):
        return False
    plan["entries"][0]["kind"] = "kill"
    return told(run, plan=plan)


@forgery
def no_request_carried(run: RunDirectory, _: RunDirectory) -> bool:
    lines = run.history.read_text().splitlines(keepends=True)
    for at, line in enumerate(lines):
        record = json.loads(line)
        if (record["process"], record["f"]) == ("link", "requests"):
            record["value"]["requests"] = {}
            lines[at] = json.dumps(record) + "\n"
    run.history.write_text("".join(lines))
    return True


def _kept_on_the_wire(run: RunDirectory, keep: Callable[[bytes], bool]) -> bool:
    """Drop lines of the record of the wire."""
    if not run.wire.exists():  # by an edit before
        return False
    lines = run.wire.read_bytes().splitlines(keepends=True)
    left = [line for line in lines if keep(line)]
    run.wire.write_bytes(b"".join(left))
    return len(left) < len(lines)


@forgery
def no_wire_and_no_counts(run: RunDirectory, _: RunDirectory) -> bool:
    run.wire.unlink(missing_ok=True)
    return kept(run, lambda record: (record["process"], record["f"]) != ("link", "wire"))


@forgery
def no_events_on_the_wire(run: RunDirectory, _: RunDirectory) -> bool:
    return _kept_on_the_wire(run, lambda line: b'"type":"event"' not in line)


def _cut_from_the_wire(run: RunDirectory, cut: Callable[[Record], bool]) -> bool:
    """Drop records of the wire, and make the history's counts of all fit."""
    wire = wire_of(run)
    left = [record for record in wire if not cut(record)]
    write_wire(run, left)
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    for record in records:
        if (record["process"], record["f"]) == ("link", "wire"):
            count = record["value"]
            gone = [r for r in wire if r["client"] == count["client"] and cut(r)]
            events = sum(r["type"] == "event" for r in gone)
            count["events"] -= events
            count["recorded"] -= len(gone) - events
    run.history.write_text("".join(json.dumps(record) + "\n" for record in records))
    return len(left) < len(wire)


def wire_of(run: RunDirectory) -> list[Record]:
    """The records of the wire; none if an edit before has dropped the file."""
    lines = run.wire.read_text().splitlines() if run.wire.exists() else []
    return [json.loads(line) for line in lines]


def write_wire(run: RunDirectory, records: list[Record]) -> None:
    if run.wire.exists():
        lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
        run.wire.write_text("".join(lines))


@forgery
def no_handshakes_counted_so(run: RunDirectory, _: RunDirectory) -> bool:
    return _cut_from_the_wire(run, lambda record: record["type"] == "handshake")


@forgery
def a_connection_of_the_auditor_cut_out(run: RunDirectory, _: RunDirectory) -> bool:
    auditor = json.loads(run.record.read_text())["clients"]
    return _cut_from_the_wire(
        run, lambda record: (record["client"], record["connection"]) == (auditor, 1)
    )


@forgery
def the_first_requests_of_the_auditor_cut_out(run: RunDirectory, _: RunDirectory) -> bool:
    auditor = json.loads(run.record.read_text())["clients"]
    return _cut_from_the_wire(
        run, lambda record: record["client"] == auditor and 0 < record.get("xid", 0) < 4
    )


@forgery
def some_reads_cut_out_of_the_wire(run: RunDirectory, _: RunDirectory) -> bool:
    return _cut_from_the_wire(
        run, lambda record: record.get("name") == "get-data" and record["xid"] % 2 == 0
    )


@forgery
def all_reads_cut_out_of_the_wire(run: RunDirectory, _: RunDirectory) -> bool:
    reads = "get-data", "get-children", "get-children2", "exists"
    return _cut_from_the_wire(run, lambda record: record.get("name") in reads)


@forgery
def some_watch_events_cut_out_of_the_history(run: RunDirectory, _: RunDirectory) -> bool:
    """And the counts of them made to fit."""
    records = [json.loads(line) for line in run.history.read_text().splitlines()]
    seen = [r for r in records if (r["process"], r["f"]) == ("link", "watch")]
    cut = {record["index"] for record in seen[::2]}
    for record in records:
        if (record["process"], record["f"]) == ("link", "requests"):
            client = record["value"]["client"]
            gone = sum(r["value"]["client"] == client for r in seen[::2])
            record["value"]["watch_events"] -= gone
    run.history.write_text("".join(json.dumps(record) + "\n" for record in records))
    return kept(run, lambda record: record["index"] not in cut)


@forgery
def another_session_timeout_everywhere(run: RunDirectory, _: RunDirectory) -> bool:
    """Also in the handshakes, but not in the servers' logs."""
    wire = wire_of(run)
    for record in wire:
        if record["type"] == "handshake":
            record |= {name: 9000 for name in ("wanted", "timeout") if record.get(name)}
    write_wire(run, wire)
    return another_session_timeout_to_both(run, run)


@forgery
def another_session_timeout_to_both(run: RunDirectory, _: RunDirectory) -> bool:
    first, *rest = run.history.read_text().splitlines(keepends=True)
    test = json.loads(first)
    test["value"]["session_timeout"] = 9.0
    run.history.write_text("".join([json.dumps(test) + "\n", *rest]))
    return told(run, session_timeout=9.0)
