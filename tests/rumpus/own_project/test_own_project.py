"""A project's own workload, recipe, fault and model, by their names in pyproject.toml."""

import json
import sys

import pytest

from rumpus.nemesis.registry import FAULTS
from rumpus.project_settings import find_settings
from rumpus.trial import run as run_trial
from rumpus.usage_error import UsageError
from tests.own_modules import forget_modules
from tests.rumpus.own_project.conftest import PACKAGE


def imported():
    return any(name.partition(".")[0] == PACKAGE for name in sys.modules)


@pytest.fixture
def run(rumpus, project):
    """A run of the project's own workload, with its own fault."""
    answer = rumpus("run", "shop", "--seed", "5", "--json")
    assert answer.code == 0, answer
    assert project.joinpath("runs/latest/history.jsonl").exists()
    forget_modules(project)
    return project / "runs" / "latest"


@pytest.mark.usefixtures("project")
def test_explored_runs_find_what_the_project_has(rumpus):
    answer = rumpus("explore", "shop", "--seeds", "1", "--jobs", "1", "--seed", "4", "--json")
    told = json.loads(answer.out)
    assert (answer.code, told["runs"], told["errors"]) == (0, 1, [])
    assert "flap" in FAULTS


def test_a_run_by_names_is_told_by_references(run):
    record = json.loads((run / "test.json").read_text())
    assert record["workload"] == "shop_of_tests.trials:Shop"
    assert " ".join(record["argv"]) == (
        "rumpus run shop_of_tests.trials:Shop --ensemble sim --time-limit 12.0 --nemesis "
        "client-kill --fault shop_of_tests.trials:Flap --seed 5"
    )
    assert sorted(record["nemesis"]) == ["client-kill", "flap"]
    results = json.loads((run / "results.json").read_text())
    assert {row["name"]: row["met"] for row in results["requirements"]}["leader changes"]
    assert {row["kind"]: row["verified"] for row in results["faults"]}["flap"] > 0


def test_its_code_is_imported_only_if_the_user_names_it(run, rumpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no pyproject.toml says whose it is
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # nor was it ever named
    answer = rumpus("check", run)
    assert answer.code == 2
    assert "give --workload shop_of_tests.trials:Shop" in answer.err
    assert not imported()
    answer = rumpus("check", run, "--workload", "other.module:Shop")
    assert answer.code == 2
    assert not imported()
    monkeypatch.setattr(sys, "path", [*sys.path, str(run.parents[1])])
    answer = rumpus("check", run, "--workload", "shop_of_tests.trials:Shop", "--believe")
    assert answer.code == 0, answer


def test_the_project_itself_vouches_for_it(run, rumpus):
    assert rumpus("check", run).code == 0
    assert rumpus("check", run, "--workload", "shop").code == 0
    answer = rumpus("check", run, "--workload", "lock")
    assert answer.code == 2
    assert "says what was run" in answer.err


def test_a_history_alone_needs_the_name_too(run, rumpus, tmp_path, monkeypatch):
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes((run / "history.jsonl").read_bytes())
    monkeypatch.chdir(tmp_path)
    answer = rumpus("check", alone)
    assert answer.code == 2
    assert "give --workload shop_of_tests.trials:Shop" in answer.err
    assert not imported()
    monkeypatch.setattr(sys, "path", [*sys.path, str(run.parents[1])])
    answer = rumpus("check", alone, "--workload", "shop_of_tests.trials:Shop")
    assert answer.code in (0, 3), answer
    assert "of shop_of_tests.trials:Shop" in answer.err


def test_what_its_own_fault_must_cause_is_asked_when_the_class_is_not_at_hand(run, rumpus):
    del FAULTS["flap"]  # as in a program that has not run it
    answer = rumpus("check", run, "--json")
    needs = [row["name"] for row in json.loads(answer.out)["requirements"]]
    assert "leader changes" in needs


def test_its_own_model_finds_what_its_recipe_breaks(project, rumpus):
    answer = rumpus("run", "shop", "--recipe", "forgetful", "--seed", "1", "--json")
    assert answer.code == 1, answer
    assert [row["kind"] for row in json.loads(answer.out)["anomalies"]] == ["lost-number"]
    answer = rumpus("check", project / "runs" / "latest", "--model", "last")
    assert answer.code == 1, answer
    assert "last" in rumpus("check", project / "runs/latest", "--model", "first").err


@pytest.mark.usefixtures("project")
def test_a_fault_that_is_not_in_force_proves_nothing(rumpus):
    words = ("--fault", "shop_of_tests.trials:Idle", "--nemesis", "none", "--json")
    answer = rumpus("run", "shop", "--seed", "1", *words)
    assert answer.code == 3, answer
    needs = {row["name"]: row["met"] for row in json.loads(answer.out)["requirements"]}
    assert needs["idle: in force, with operations inside, and healed"] is False


def test_its_own_recipe_by_name(project, rumpus):
    answer = rumpus("run", "lock", "--recipe", "mine", "--seed", "1")
    record = json.loads((project / "runs/latest/test.json").read_text())
    assert record["recipe"] == "shop_of_tests.locks:MyLock"
    assert answer.code in (0, 1, 3), answer


@pytest.mark.usefixtures("project", "no_engine")
def test_the_list_shows_them_and_what_cannot_be_used(rumpus):
    own = {each["name"]: each for each in json.loads(rumpus("list", "--json").out)["own"]}
    assert own["shop"]["summary"] == "clients write and read one number"
    assert own["flap"]["summary"] == "servers are killed or frozen"
    assert own["mine"]["workload"] == "lock"
    assert "split-brain" in own["mine"]["summary"]
    assert {each["source"] for each in own.values()} == {"pyproject.toml"}
    assert "there is no module" in own["missing"]["problem"]
    assert [name for name, each in own.items() if each["problem"]] == ["missing"]
    assert "fault flap: shop_of_tests.trials:Flap (pyproject.toml)" in rumpus("list").out


def test_the_api_knows_them_and_their_defaults(project):
    import rumpus  # noqa: PLC0415

    result = rumpus.run("shop", seed=5, nemesis=["flap"], keep=True)
    assert result.valid is True, result
    assert "--time-limit 12.0" in result.command
    assert "--nemesis none --fault shop_of_tests.trials:Flap" in result.command
    sys.path.append(str(project))
    from shop_of_tests import trials  # noqa: PLC0415

    again = rumpus.run(trials.Shop, seed=5, nemesis=[trials.Flap])
    assert [each.digest for each in again.runs] == [each.digest for each in result.runs]
    assert rumpus.check(project / "runs" / "latest", trials.LastWritten).valid is True


def test_its_own_mutants_are_hunted(project, rumpus):
    shop = "shop_of_tests.trials:Shop"
    answer = rumpus("mutants", "--family", "shop")
    assert answer.code == 2
    assert "the workload shop has no mutants: enter them in its catalogue" in answer.err
    forget_modules(project)
    file = project / PACKAGE / "trials.py"
    entry = 'mutant(ForgetfulShelf, "it forgets", {"lost-number"})'
    text = file.read_text().replace('"forgetful": ForgetfulShelf', f'"forgetful": {entry}')
    text = text.replace('"shelf": Shelf', '"shelf": sound(Shelf)')
    file.write_text(text.replace("    follows,\n", "    follows,\n    mutant,\n    sound,\n"))
    answer = rumpus("mutants", "--family", "shop", "--json")
    assert answer.code == 0, answer
    (caught,) = json.loads(answer.out)["mutants"]
    assert (caught["family"], caught["mutant"], caught["outcome"]) == (shop, "forgetful", "caught")
    assert caught["command"].startswith(f"rumpus run {shop} --recipe forgetful ")
    assert rumpus("mutants", "--family", "elsewhere:Shop").code == 2
    assert "no mutant servers" in rumpus("mutants", "--family", shop, "--servers").err


@pytest.mark.usefixtures("project")
def test_the_projects_file_is_read_once_a_trial(monkeypatch):
    read = []

    def find_and_count(directory):
        read.append(directory)
        return find_settings(directory)

    monkeypatch.setattr("rumpus.project_names.find_settings", find_and_count)
    with pytest.raises(UsageError, match="unknown recipe 'nothing'"):
        run_trial("shop", "nothing")
    assert len(read) == 1


def test_a_check_of_its_own_that_fails_is_not_a_defect_of_rumpus(project, rumpus):
    file = project / PACKAGE / "trials.py"
    file.write_text(file.read_text().replace("return argument\n", "return argument.missing\n"))
    answer = rumpus("run", "shop", "--seed", "1")
    assert answer.code == 2
    assert "shop_of_tests.trials:Shop: its checks fail" in answer.err
    assert "LastWritten fails (AttributeError" in answer.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('kind = "flap"', 'kind = "kill"'), "its kind 'kill' is taken"),
        (('kind = "flap"', 'kind = "A b"'), "lower-case words"),
        (('needs = "kill"', 'needs = "magic"'), "its attribute needs is 'magic'"),
        (('needs = "kill"', 'needs = "containers"'), "does not offer it"),
        (('causes = "leader change"', 'causes = "joy"'), "its attribute causes is 'joy'"),
        (("    def heal(", "    def mend("), "does not define heal"),
        (("class Flap(ServerFault)", "class Flap(Model)"), "is no subclass of rumpus.Fault"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_words(project, rumpus, change, words):
    file = project / PACKAGE / "trials.py"
    before = file.read_text()
    file.write_text(before.replace(*change))
    assert file.read_text() != before
    answer = rumpus("run", "shop", "--nemesis", "flap", "--seed", "1")
    assert answer.code in (2, 4)
    assert words in " ".join(answer.err.split())
