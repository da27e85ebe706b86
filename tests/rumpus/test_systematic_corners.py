import json

import pytest

from rumpus.campaigns.case import load_case
from rumpus.command_line import main
from tests.sampling import one_in

SMALL = ["--time-limit", "2.2", "--operations", "1"]


def explored(capsys, *words):
    code = main(["explore", *words])
    return code, capsys.readouterr()


@one_in(2)
def test_failures_are_told_with_their_frames_and_each_is_a_case(tmp_path, capsys):
    words = [
        "double-barrier",
        "--recipe",
        "kazoo",
        "--systematic",
        "expiries",
        *SMALL,
        "--jobs",
        "1",
    ]
    code, said = explored(capsys, *words, *SMALL, "--cases", str(tmp_path), "--json")
    assert code == 1
    document = json.loads(said.out)
    assert document["complete"]
    assert document["corners"] == document["performed"] == 1 + document["frames"]
    found = document["findings"]
    # kazoo says that a member has entered whose node went with its session: others leave early.
    assert {each["kind"] for each in found} == {"stuck-waiter", "early-exit"}
    assert len({each["case"] for each in found}) == len(found) == len(list(tmp_path.iterdir()))
    for each in found:
        assert each["faults"][0].startswith("expiries at c")
        case = load_case(tmp_path / each["case"])
        assert str(case.expects) == each["fingerprint"]
        assert len(case.plan.entries) == 1


@one_in(3)
def test_a_sound_recipe_is_covered_and_valid(tmp_path, capsys):
    words = ["lock", "--recipe", "fair", "--systematic", "drops,cuts", *SMALL]
    code, said = explored(capsys, *words, "--cases", str(tmp_path / "cases"))
    assert code == 0
    frames, performed, reached = said.out.strip().split(", ")
    number = int(frames.split()[0])
    assert performed == f"{2 * number + 1} of {2 * number + 1} corners performed"
    assert reached == f"{2 * number + 1} reached"
    assert not (tmp_path / "cases").exists()


def test_what_was_not_performed_is_not_called_valid(tmp_path, capsys):
    words = ["lock", "--recipe", "fair", "--systematic", "drops", *SMALL, "--budget", "0.001"]
    code, said = explored(capsys, *words, "--cases", str(tmp_path))
    assert code == 3
    assert said.out.startswith(tuple("0123456789"))


def test_a_mode_that_does_not_exist(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "lock", "--systematic", "drops,explosions"])
    said = capsys.readouterr().err
    assert "there is no explosions; there are drops, cuts" in " ".join(said.split())


@pytest.mark.parametrize(
    "option", [["--seeds", "3"], ["--swarm"], ["--nemesis", "kill"], ["--shard", "0/2"]]
)
def test_options_that_would_have_no_effect_are_refused(option, capsys):
    code, said = explored(capsys, "lock", "--systematic", "drops", *option)
    assert code == 2
    assert f"leave out {option[0]}" in " ".join(said.err.split())
