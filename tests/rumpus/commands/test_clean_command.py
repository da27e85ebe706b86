import signal

import pytest

pytestmark = pytest.mark.usefixtures("no_engine")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    return place


def test_what_a_killed_exploration_has_left_is_removed(
    program, rumpus, temporary, tmp_path, eventually
):
    words = "explore", "lock", "--recipe", "fair", "--seeds", 500, "--jobs", 2
    exploring = program(*words, "--cases", tmp_path / "cases")
    eventually(lambda: len(list(temporary.glob("rumpus-*"))) == 2)
    kept = sorted(temporary.iterdir())
    beside = rumpus("clean")
    assert beside.code == 4  # there may be containers on an engine that does not answer
    assert beside.out == ""
    assert sorted(temporary.iterdir()) == kept  # they are in use
    exploring.process.send_signal(signal.SIGKILL)
    exploring.end()
    eventually(lambda: not exploring.living())
    cleaned = rumpus("clean")
    assert [line.split()[0] for line in cleaned.out.splitlines()] == ["removed", "removed"]
    assert [str(path) for path in kept] == [line.split()[1] for line in cleaned.out.splitlines()]
    assert list(temporary.iterdir()) == []
    assert "no Docker engine answers" in cleaned.err


def test_what_cannot_be_removed_is_told(rumpus, temporary, monkeypatch):
    monkeypatch.setattr(
        "rumpus.commands.clean_command.find_abandoned", lambda: [temporary / "rumpus-x"]
    )
    monkeypatch.setattr("rumpus.commands.clean_command.remove_abandoned", lambda _: "it is mounted")
    answer = rumpus("clean")
    assert (answer.code, answer.out) == (4, "")
    assert f"{temporary / 'rumpus-x'} stays: it is mounted" in answer.err
