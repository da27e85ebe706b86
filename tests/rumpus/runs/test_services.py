"""Recipes that live on servers of the user's: the option, what a run has, and real runs."""

import json
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.case import decode_case
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.service_ensemble import ServiceEnsemble
from rumpus.option_values import WrongValue
from rumpus.project_names import names_here
from rumpus.recipes.servers import Servers
from rumpus.runs.applicability import simulated
from rumpus.runs.performing import PreparedRun
from rumpus.runs.recorded_settings import settings_of_words
from rumpus.runs.run_settings import RunSettings, command_line
from rumpus.runs.services import Services, addresses
from rumpus.usage_error import UsageError
from tests.lock_service import lock_service
from tests.rumpus.runs import service_locks

SERVICES = Services()
CONNECTED = "tests.rumpus.runs.service_locks:ConnectedLock"
LEASED = "tests.rumpus.runs.service_locks:LeasedLock"

CUT_OFF = {
    "version": 1,
    "entries": [
        {
            "at": at,
            "kind": "client-partition",
            "targets": {"role": "holder"},
            "duration": 0.4,
            "options": {"how": "half-open", "nodes": ["n1"]},
        }
        for at in (0.5, 1.5, 2.5, 3.5)
    ],
}
"""The service hears that the holder's connection has ended; the holder hears nothing.

Several times: one that is just about to release is not seen to believe any more.
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("db=127.0.0.1:5432", {"db": ("127.0.0.1", 5432)}),
        ("a=db.example:1,b-2=[::1]:65535", {"a": ("db.example", 1), "b-2": ("::1", 65535)}),
    ],
)
def test_services_are_read(text, found):
    assert addresses(SERVICES.read(text)) == found


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("127.0.0.1:5432", "is no service: write it as NAME=HOST:PORT"),
        ("db=127.0.0.1", "is no service"),
        ("db=::1:5432", "is no service"),
        ("", "is no service"),
        ("db=h:0", "the port 0 is not from 1 to 65535"),
        ("db=h:65536", "the port 65536 is not from 1 to 65535"),
        ("db=h:1,db=h:2", "there is another service called db"),
        (",".join(f"s{number}=h:1" for number in range(10)), "10 services; a run has at most 9"),
        ({"db": 5432}, "is no service"),
        (5432, "names no services"),
        ([5432], "names no services"),
    ],
)
def test_what_is_no_service_is_refused_with_the_reason(value, why):
    with pytest.raises(WrongValue, match=re.escape(why)):
        SERVICES.checked(value)


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,10}", fullmatch=True)
hosts = st.one_of(st.ip_addresses(v=4).map(str), st.sampled_from(["localhost", "db.example"]))
places = st.dictionaries(names, st.tuples(hosts, st.integers(1, 65535)), min_size=1, max_size=9)


@given(places)
def test_what_is_given_as_a_mapping_comes_back_from_a_command_line(services):
    told = SERVICES.checked({name: f"{host}:{port}" for name, (host, port) in services.items()})
    settings = RunSettings(argv=(), workload="lock", service=told)
    again = settings_of_words(command_line(settings)[1:])
    assert addresses(again.service) == services


def test_the_option_may_be_given_several_times():
    words = ["run", "lock", "--service", "a=h:1", "--service", "b=h:2,c=h:3"]
    assert settings_of_words(words).service == ["a=h:1", "b=h:2", "c=h:3"]


@given(places)
def test_a_client_finds_the_links_by_the_names_of_the_services(services):
    ensemble = ServiceEnsemble(services)
    found = Servers.parse(str(Servers(ensemble.client_addresses())))
    assert found.services == {name: f"{host}:{port}" for name, (host, port) in services.items()}
    assert ensemble.nodes == tuple(f"n{number}" for number in range(1, len(services) + 1))


def prepared(**options):
    recipe = options.pop("recipe", CONNECTED)
    given = {"argv": (), "workload": "lock", "recipe": recipe, "service": ["locks=127.0.0.1:1"]}
    return PreparedRun(RunSettings(**{**given, **options}), lambda _line: None)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ensemble": "sim"}, "lives on locks=127.0.0.1:1, which is not simulated"),
        ({"nodes": 5}, "these are its servers, so leave --nodes out"),
        ({"image": "zookeeper"}, "takes no --image"),
        ({"swarm": "normal"}, "takes no --swarm"),
        ({"usage": "restarts=0.5"}, "restarts of --usage is for clients of ZooKeeper"),
        ({"recipe": "kazoo"}, "--service is for recipes of your own"),
        ({"workload": "counter"}, "a recipe of counter cannot live on services"),
    ],
)
def test_what_a_run_on_services_cannot_have_is_refused(options, why):
    with pytest.raises(UsageError, match=re.escape(why)):
        prepared(**options)


def test_faults_of_servers_are_refused():
    with pytest.raises(EnvironmentRefusal, match="kill: the services ensemble does not offer it"):
        prepared(nemesis=["kill"])


def test_a_service_that_is_not_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(EnvironmentRefusal, match=f"service db does not accept .*{port}"):
        prepared(service=[f"db=127.0.0.1:{port}"])


def test_the_usual_faults_are_those_of_clients():
    with socket.create_server(("127.0.0.1", 0)) as server:
        run = prepared(service=[f"locks=127.0.0.1:{server.getsockname()[1]}"], seed=3)
        assert run._plan.kinds == ("client-pause", "client-kill", "client-partition")
        again = prepared(service=[f"locks=127.0.0.1:{server.getsockname()[1]}"], seed=3)
    assert run.workload.path != again.workload.path, "a service outlives the run"
    cuts = [each for each in run._plan.entries if each.kind == "client-partition"]
    assert "half-open" in {each.options["how"] for each in cuts if each.targets.role == "holder"}


def test_what_takes_zookeeper_is_said_not_to_be_judged():
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"locks=127.0.0.1:{server.getsockname()[1]}"
        promises = prepared(service=[place], promises=["exclusion", "fifo", "validity"]).promises
    assert promises.prevents == {"split-brain", "deadlock", "stuck-waiter", "unexpected-error"}
    assert "never by a session or a server's log" in promises.notes
    assert (
        "Not judged: double-grant, false-census, false-reentry, false-release, herd"
        in promises.notes
    )
    assert "believe that it holds from the grant to the release." in promises.notes
    assert "LOST" not in promises.notes


def test_a_case_with_a_service_is_performed_on_it():
    case = {
        "settings": {"workload": "lock", "recipe": CONNECTED, "service": ["locks=h:1"]},
        "seed": 1,
        "plan": {"version": 1, "entries": []},
        "expects": {"kind": "split-brain", "operations": [], "faults": []},
    }
    settings = decode_case(json.dumps(case).encode(), "the case").task().settings
    assert settings.ensemble == "auto"
    assert settings.service == ["locks=h:1"]
    with pytest.raises(UsageError, match="not simulated"):
        simulated(settings)


def test_a_project_for_the_simulation_may_have_trials_on_services(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.rumpus.defaults]\nensemble = "sim"\n')
    monkeypatch.chdir(tmp_path)
    given = {"workload": "lock", "service": ["db=h:1"], "argv": ()}
    assert names_here().settings_of(given).ensemble == "auto"


def run(recipe, directory):
    """A run of its own, which a busy host has time for; its answer and its directory."""
    (directory / "plan.json").write_text(json.dumps(CUT_OFF))
    with lock_service() as address:
        words = f"run lock --recipe {recipe} --service locks={address} --clients 3 --time-limit 9"
        more = "--plan", str(directory / "plan.json"), "--runs", str(directory / "runs"), "--json"
        result = subprocess.run(
            [sys.executable, "-m", "rumpus.program", *words.split(), *more],
            cwd=Path(__file__).resolve().parents[3],
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.stdout, result.stderr
    (kept,) = (directory / "runs" / "lock").glob("2*")
    return json.loads(result.stdout), kept


def test_a_holder_that_does_not_look_is_found_and_one_that_counts_its_lease_is_not(
    tmp_path, rumpus
):
    places = [tmp_path / "connected", tmp_path / "leased"]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(2) as both:
        found, sound = both.map(run, [CONNECTED, LEASED], places)
    answer, kept = found
    assert answer["outcome"] == "violation"
    assert {each["kind"] for each in answer["anomalies"] if each["promised"]} == {"split-brain"}
    assert answer["blamed"] == "recipe"
    checked = rumpus("check", str(kept), "--trust", "--json")
    assert checked.code == 1
    again = json.loads(checked.out)
    assert (again["outcome"], again["reasons"]) == (answer["outcome"], answer["reasons"])
    record = json.loads((kept / "test.json").read_text())
    assert (record["ensemble"], record["options"]["system"]) == ("services", "services")
    assert "kazoo" not in record["versions"]
    assert "zookeeper" not in record["versions"]
    answer, _ = sound
    assert answer["outcome"] == "valid", answer["reasons"]
    # A busy host may delay an action until its lease is over: what no lock can prevent.
    assert {each["kind"] for each in answer["anomalies"]} <= {"stale-action"}


def test_the_stand_in_grants_to_one_connection_at_a_time():
    with lock_service() as address:
        one, other = (service_locks.ConnectedLock(None, "x", {"locks": address}) for _ in "ab")
        assert one.acquire(0)
        assert not other.acquire(0.05)
        one.close()
        assert other.acquire(1)
        other.close()
