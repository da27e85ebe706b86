import json

import pytest

from rumpus.campaigns import shrinking
from rumpus.campaigns.case import load_case
from rumpus.command_line import main
from rumpus.commands import shrink_command
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import one_in


@one_in(2)
def test_a_case_is_shrunk_and_what_people_wrote_into_it_stays(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shrinking, "PASSES", [shrinking._few_faults])  # the others take long
    monkeypatch.setattr(shrink_command, "PLAIN_PERIOD_S", 0.0)
    document = json.loads(DEADLOCK)
    document["settings"]["time_limit"] = 4.2
    document["plan"]["entries"] += [
        {"at": 3.5, "kind": "client-pause", "targets": {"names": ["c1"]}, "duration": 0.3},
        {"at": 4.0, "kind": "client-partition", "targets": {"names": ["c0"]}, "duration": 0.3},
    ]
    known = {"number": 10, "what": "Lock", "where": "acquire", "fault": "any"}
    given = tmp_path / "given.case.json"
    given.write_text(json.dumps({**document, "finding": known}))
    smaller = tmp_path / "out" / "smaller.case.json"
    words = ["shrink", str(given), "-o", str(smaller), "--budget", "600", "--jobs", "1", "--json"]
    code = main(words)
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert (code, told["reproduced"]) == (1, True)
    status = printed.err.splitlines()[-1]
    assert f" s  {told['runs']} runs tried; smallest so far: 1 fault, 3 clients, " in status
    case = load_case(smaller)
    assert case.finding is not None
    assert case.finding.number == 10
    assert [entry.kind for entry in case.plan.entries] == told["faults"]
    assert len(told["faults"]) == 1


@pytest.mark.parametrize(
    ("recipe", "code", "words"),
    [("fair", 0, "not seen again: deadlock"), ("none", 2, "unknown recipe 'none'")],
)
def test_a_failure_that_is_not_there_and_what_cannot_be_run_are_said(
    tmp_path, capsys, recipe, code, words
):
    document = json.loads(DEADLOCK)
    document["settings"]["recipe"] = recipe
    given = tmp_path / "given.case.json"
    given.write_text(json.dumps(document))
    assert main(["shrink", str(given), "--jobs", "1"]) == code
    assert words in capsys.readouterr().err
