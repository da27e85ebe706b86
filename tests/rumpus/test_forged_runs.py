"""Evidence that was forged and sealed again contradicts itself: it decides nothing."""

import json
import re
import shutil
from difflib import unified_diff
from itertools import combinations
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from rumpus.command_line import main
from rumpus.recipes.znodes import guarded_znodes
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.judging import judge_run
from tests.sampling import sampled
from tests.torture.edits import EDITS
from tests.torture.forgeries import FORGERIES, forge

FAULTS = "client-kill,client-pause"
MOVES = [name for name in EDITS if name not in FORGERIES]
"""Edits beside the forgeries, which are looked at in a sound run, too."""


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Two sound runs of the lock, and one of a lock that breaks its promises."""

    def run(name, recipe, seed, code):
        words = f"run lock --recipe {recipe} --ensemble sim --seed {seed} --time-limit 6"
        runs = tmp_path_factory.mktemp(name)
        assert main([*words.split(), "--nemesis", FAULTS, "--runs", str(runs)]) == code
        return (runs / "latest").resolve()

    return SimpleNamespace(
        sound=run("sound", "fair", 1, 0),
        other=run("other", "fair", 2, 0),
        broken=run("broken", "persistent-node", 1, 1),
    )


def outcome(run):
    try:
        return judge_run(run)[2].outcome
    except UnreadableRun:
        return "refused"


@pytest.mark.parametrize(
    ("base", "allowed"),
    [("sound", {"unknown", "refused"}), ("broken", {"unknown", "refused", "violation"})],
)
@sampled("name", FORGERIES, of=5)
def test_a_forged_run_decides_nothing(bases, tmp_path, name, base, allowed):
    shutil.copytree(getattr(bases, base), tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert forge(name, run, RunDirectory(bases.other))
    assert outcome(run) in allowed


PAIRS = Random(0).sample([*combinations(EDITS, 2)], 12)


@pytest.mark.parametrize("names", [*((name,) for name in MOVES), *PAIRS], ids=", then ".join)
def test_no_edits_make_a_violation_valid(bases, tmp_path, names):
    run = RunDirectory(shutil.copytree(bases.broken, tmp_path / "run"))
    for name in names:
        EDITS[name](run, RunDirectory(bases.other))
    run.seal()
    assert outcome(run) != "valid"


SAID = {
    "records of leaders cut out": "missing from the history",
    "one client to both": "but there were only 1",
    "a sixth client to both": "c5",
    "no sessions": "never had a session",
    "an action made up": "this action is inside no operation of process 0",
    "an action dropped": "their numbers have gaps",
    "no actions": "but the witness saw 0",
    "no watch events": "by the count at the run's end",
    "no link records": "were not counted at the run's end",
    "no plan": "is not in the plan",
    "another kind of fault planned": "in the plan it is kill",
    "no fault happened": "never began",
    "the logs of another run": "is not in the servers' logs",
    "no request carried": "sent 0 write requests",
    "logs cut short": "the servers' logs end at",
    "a session dropped": "but is not in the history",
    "two seconds later": "no client learned of its session within 2.0 s",
    "one server without files": "the files of n1 end at 0x0, but it had applied",
    "no files of servers": "the files of n1 end at 0x0, but it had applied",
    "a log of one server emptied": "a log of n1 cannot be read",
    "another line": "the line of contenders in test.json is",
    "three days later": "no client learned of its session within 2592",
    "two seconds earlier": "ms before it began in the servers' logs",
    "no faults could be chosen": "nemesis is not in test.json",
    "one server": "there are logs of 3",
    "an unknown recipe without promises": "what nowhere.locks:Lock promises is on trust",
    "no promises": "the run names others than lock / fair makes",
    "no end": "it has no end",
    "no wire and no counts": "what passed on the links of c0 was not counted",
    "no events on the wire": "had passed on its links, and 0 are recorded",
    "another session timeout to both": "but clients asked for 2 s",
    "one reading of the clocks changed": "the readings of the clocks in test.json contradict",
    "another recipe with its promises": "but its command line asked for fair",
    "another session timeout everywhere": "in the servers' logs the clients' sessions have 2 s",
    "no handshakes counted so": "and no handshake of it is recorded",
    "a connection of the auditor cut out": "no handshake is recorded of connection 1",
    "the first requests of the auditor cut out": "of the auditor are missing on its connection",
    "some reads cut out of the wire": "requests get-data of c0, and",
    "all reads cut out of the wire": "their numbers have gaps",
    "some watch events cut out of the history": "while no fault was in the way",
}
"""Forgery -> what is told of it: each contradiction that is looked for has one here."""


@pytest.mark.parametrize("name", SAID)
def test_what_contradicts_itself_is_told(bases, tmp_path, name):
    shutil.copytree(bases.sound, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert forge(name, run, RunDirectory(bases.other))
    assert SAID[name] in " ".join(judge_run(run)[2].reasons)


FORGIVING = (
    "run znode --recipe guarded --server-mutant forgiving-delete --ensemble sim --seed 5 "
    "--time-limit 8 --nemesis none"
)


def test_answers_on_the_wire_that_the_history_denies_excuse_no_server(tmp_path):
    """Servers said that they deleted what was not there; now the wire says that they refused."""
    assert main([*FORGIVING.split(), "--runs", str(tmp_path)]) == 1
    run = RunDirectory((tmp_path / "latest").resolve())
    assert EDITS["deletes refused by the wire"](run, run)
    run.seal()
    verdict = judge_run(run).verdict
    assert verdict.outcome == "unknown"
    assert "was done, but by the wire a server refused" in " ".join(verdict.reasons)


def test_a_change_that_was_asked_for_is_no_forgery(tmp_path):
    """Of a recipe that says it did what was refused the wire is right: a violation stays one."""
    source = Path(guarded_znodes.__file__).read_text()
    deletes = "            ask(self._client.delete_async, "
    careless = source.replace(deletes, f"            with suppress(Exception): {deletes.strip()} ")
    careless = careless.replace("from typing", "from contextlib import suppress\nfrom typing", 1)
    name = "rumpus/recipes/znodes/guarded_znodes.py"
    lines = unified_diff(
        *(each.splitlines(keepends=True) for each in (source, careless)), f"a/{name}", f"b/{name}"
    )
    patch = tmp_path / "careless.diff"
    patch.write_text("".join(lines))
    words = "run znode --recipe guarded --ensemble sim --seed 5 --time-limit 8 --nemesis none"
    assert main([*words.split(), "--patch", str(patch), "--runs", str(tmp_path)]) == 1


LOSS = (
    "run append --server-mutant discontinuous-committed-log --ensemble sim --nodes 5 --clients 4 "
    "--time-limit 55 --usage think=0.5 --seed 1 --plan docs/plans/staggered-kills.json"
)


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A run after which the log of n4 lacks 56 committed transactions, up to 0x200000038."""
    runs = tmp_path_factory.mktemp("lost")
    assert main([*LOSS.split(), "--runs", str(runs)]) == 1
    return (runs / "latest").resolve()


@pytest.mark.parametrize("source", ["nodes/n4/*/snapshot.3*", "nodes/n5/*/snapshot.2*"])
def test_a_snapshot_of_another_time_hides_no_gap(lost, tmp_path, source):
    run = RunDirectory(shutil.copytree(lost, tmp_path / "run"))
    (snapshot,) = run.path.glob(source)
    snapshot.rename(run.nodes / "n4/version-2/snapshot.200000038")
    run.seal()
    verdict = judge_run(run).verdict
    assert verdict.outcome == "unknown"
    assert "n4: snapshot.200000038 has effects of 0x" in " ".join(verdict.reasons)


def test_servers_without_files_are_not_said_to_have_lost_nothing(lost, tmp_path):
    run = RunDirectory(shutil.copytree(lost, tmp_path / "run"))
    shutil.rmtree(run.nodes)
    run.seal()
    assert outcome(run) == "unknown"


def test_logs_of_another_time_are_of_another_run(bases, tmp_path):
    """Nothing in them is held against the servers of this one: clocks jump by a day at most."""
    shutil.copytree(bases.sound, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert judge_run(run)[1].truth is not None
    assert forge("two seconds later", run, RunDirectory(bases.other))
    assert judge_run(run)[1].truth is not None
    assert forge("three days later", run, RunDirectory(bases.other))
    assert judge_run(run)[1].truth is None


@pytest.mark.parametrize(
    ("system", "ensemble", "why"),
    [
        ("nonsense", "sim", "knows no servers of the system 'nonsense'"),
        ("etcd", "sim", "simulated servers are ZooKeeper's"),
        ("etcd", "docker", "lock / fair does not run on etcd"),
        ("services", "docker", "a run on services is not one on docker"),
        ("zookeeper", "services", "a run on zookeeper is not one on services"),
        ("services", "services", "there are some of servers"),
    ],
)
def test_the_servers_files_are_not_left_out_by_the_name_of_another_system(
    bases, tmp_path, system, ensemble, why
):
    run = RunDirectory(shutil.copytree(bases.sound, tmp_path / "run"))
    record = json.loads(run.record.read_text())
    record["ensemble"] = ensemble
    record["options"]["system"] = system
    run.record.write_text(json.dumps(record))
    run.seal()
    with pytest.raises(UnreadableRun, match=re.escape(why)):
        judge_run(run)


def test_what_was_not_forged_is_judged(bases):
    assert outcome(RunDirectory(bases.sound)) == "valid"
    assert outcome(RunDirectory(bases.broken)) == "violation"


def test_of_many_contradictions_a_few_are_told(bases, tmp_path):
    shutil.copytree(bases.sound, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert forge("the logs of another run", run, RunDirectory(bases.other))
    shutil.rmtree(run.nodes / "n1")
    shutil.copytree(bases.sound / "nodes/n1", run.nodes / "n1")
    run.seal()
    verdict = judge_run(run).verdict
    reasons = verdict.reasons + verdict.notes
    assert len([each for each in reasons if each.startswith("the servers' logs: n")]) <= 5
    assert any(re.search(r"and \d+ more", each) for each in reasons)
