import json

import pytest

from rumpus.campaigns.case import load_case
from rumpus.command_line import main
from tests.sampling import one_in

PLAN = {
    "version": 1,
    "entries": [{"at": 1, "kind": "kill", "targets": {"role": "all"}, "duration": 0.2}],
}
WORDS = "explore double-barrier --recipe kazoo --clients 2 --time-limit 1.5 --shrink 0 --jobs 1"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """What two parts of an exploration have printed, and the exploration itself."""
    place = tmp_path_factory.mktemp("parts")
    (place / "plan.json").write_text(json.dumps(PLAN))

    def explore(name, *words):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(place)
            with (place / name).open("w") as file:
                patch.setattr("sys.stdout", file)
                options = ["--plan", "plan.json", "--seed", "0", "--seeds", "6", "--json"]
                assert main([*WORDS.split(), *options, *words]) == 1
        return place / name

    return {
        "0": explore("0.json", "--shard", "0/2"),
        "1": explore("1.json", "--shard", "1/2"),
        "whole": explore("whole.json"),
    }


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@one_in(2)
def test_parts_are_what_the_whole_is(parts, tmp_path, capsys):
    assert main(["merge", str(parts["1"]), str(parts["0"]), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    whole = json.loads(parts["whole"].read_text())
    assert told.pop("cpu_seconds") > 0
    del whole["cpu_seconds"]
    assert told == whole
    assert told["runs"] == 6
    case = load_case(tmp_path / told["findings"][0]["case"])
    assert case.expects.kind == "stuck-waiter"
    assert main(["merge", str(parts["0"]), str(parts["1"])]) == 1
    text = capsys.readouterr().out
    assert "first at seed 0, in 3 runs" in text
    assert "stuck-waiter of enter" in text


def refused(capsys, *files):
    code = main(["merge", *map(str, files)])
    assert code == 2
    return capsys.readouterr().err


def test_parts_that_make_no_whole_are_refused(parts, tmp_path, capsys):
    zero, one = parts["0"], parts["1"]
    again = tmp_path / "again.json"
    again.write_text(zero.read_text())
    assert "again.json: is part 0/2 like" in refused(capsys, zero, again)
    assert "parts are missing: 1/2" in refused(capsys, zero)
    assert "whole.json: is not of a part: it was made without --shard" in refused(
        capsys, zero, parts["whole"]
    )
    document = json.loads(one.read_text())
    document["part"]["campaign"]["recipe"] = "other"
    again.write_text(json.dumps(document))
    told = refused(capsys, zero, again)
    assert "again.json: not of the same exploration as" in told
    assert "recipe is 'other' instead of 'kazoo'" in told
    document["part"]["of"] = 3
    again.write_text(json.dumps(document))
    assert "again.json: one of 3 parts" in refused(capsys, zero, again)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 9}, "has version 9"),
        ({"index": 2}, "there is no part 2/2"),
        ({"runs": "many"}, "not what `rumpus explore --shard I/N --json` prints"),
        ({"made": [{}]}, "not what"),
        ({"failures": [], "made": [1]}, "not what"),
    ],
)
def test_a_file_that_is_no_part_is_refused(parts, tmp_path, capsys, change, words):
    document = json.loads(parts["0"].read_text())
    document["part"] |= change
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    told = refused(capsys, bad, parts["1"])
    assert "bad.json" in told
    assert words in told


def test_a_failure_without_a_case_is_refused(parts, tmp_path, capsys):
    document = json.loads(parts["0"].read_text())
    document["part"]["made"] = []
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    assert "bad.json: has no case of the failure of seed 0" in refused(capsys, bad, parts["1"])


NOTHING_WRONG = {"failures": [], "taken": [], "made": [], "deaths": []}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (NOTHING_WRONG, "3 runs were violations, and of 3 of these it has no failure"),
        (NOTHING_WRONG | {"accepted": 3}, "3 failures were accepted, but the exploration accepts"),
        (NOTHING_WRONG | {"outcomes": {"valid": 4}}, "it has 3 runs, and outcomes of 4"),
        ({"outcomes": {"valid": 3}}, "but no run was a violation"),
        ({"outcomes": {"fine": 3}}, "no run has the outcome 'fine'"),
        ({"short_runs": 1}, "it has 1 short runs, and outcomes of 0"),
        (
            {"short_runs": 9, "short_outcomes": {"violation": 9}},
            "9 short runs were violation, and of all only 3",
        ),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(parts, tmp_path, capsys, change, words):
    document = json.loads(parts["0"].read_text())
    assert document["part"]["outcomes"] == {"violation": 3}
    document["part"] |= change
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    told = refused(capsys, bad, parts["1"])
    assert "bad.json: contradicts itself: " in told
    assert words in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (NOTHING_WRONG | {"outcomes": {"valid": 3}}, 'its outcome is "violation", and by its part'),
        ({"errors": [{"seed": 0, "why": "no", "exit_code": 4}]}, "its errors is a list of 0, and"),
        ({"virtual_seconds": 1.0}, "its virtual_seconds is "),
        ({"interrupted": True}, "its interrupted is false, and by its part true"),
    ],
)
def test_a_part_that_its_document_contradicts_is_refused(parts, tmp_path, capsys, change, words):
    """All that stands around a part follows from it, and stays as it was."""
    document = json.loads(parts["0"].read_text())
    document["part"] |= change
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    told = refused(capsys, bad, parts["1"])
    assert "bad.json: contradicts itself: " in told
    assert words in told


@pytest.mark.parametrize("name", ["outcome", "exit_code", "outcomes", "findings", "runs"])
def test_a_document_that_its_part_contradicts_is_refused(parts, tmp_path, capsys, name):
    document = json.loads(parts["0"].read_text())
    document[name] = {"findings": [], "runs": 4, "exit_code": 0}.get(name, {"valid": 3})
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    assert f"bad.json: contradicts itself: its {name} is " in refused(capsys, bad, parts["1"])


def test_what_is_no_document_is_refused(tmp_path, capsys):
    bad = tmp_path / "bad.json"
    for text in ("", "[]", "{", '{"reasons": ["no"], "exit_code": 4}', "\udcff"):
        bad.write_bytes(text.encode(errors="surrogateescape"))
        assert "bad.json: not what" in refused(capsys, bad)
    assert "cannot read the results" in refused(capsys, tmp_path / "missing.json")


@pytest.mark.parametrize("shard", ["2/2", "0", "1/0", "-1/2", "a/b"])
def test_a_part_that_cannot_be_is_refused(shard, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explore", "lock", f"--shard={shard}"])
    assert ended.value.code == 2
    assert "of N parts" in capsys.readouterr().err
