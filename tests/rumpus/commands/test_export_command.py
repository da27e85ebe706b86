import pytest

from rumpus.results.formats.history_formats import read_table
from tests.rumpus.conftest import turns

KV = """\
{:process 9, :type :invoke, :f :append, :key "0", :value "x 9 0 y"}
{:process 1, :type :invoke, :f :get, :key "0", :value nil}
{:process 1, :type :ok, :f :get, :key "0", :value "x 9 0 y"}
"""


def test_a_run_in_edn(rumpus, recorded_run, tmp_path):
    run = recorded_run(turns(grants=4))
    said = rumpus("export", run.path, "--format", "edn")
    assert (said.code, said.err) == (0, "")
    exported = tmp_path / "exported.edn"
    written = rumpus("export", run.history, "--format", "edn", "-o", exported)
    assert (written.code, written.out) == (0, "")
    assert f"records: {exported}" in written.err
    assert exported.read_text() == said.out
    ours, theirs = read_table(run.history, "jsonl"), read_table(exported, "edn")
    assert ours.call.tolist() == theirs.call.tolist()
    assert list(ours.field("token")) == list(theirs.field("token"))


def test_a_key_value_log_is_written_as_it_was(rumpus, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(KV)
    assert rumpus("export", path, "--format", "porcupine-kv").out == KV


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--format", "porcupine-kv"], ["calls acquire", "only append, get, put", "--format edn"]),
        (["--format", "edn", "-o", "nowhere/x"], ["nowhere/x", "cannot write it"]),
        (["--format", "yaml"], ["yaml"]),
        ([], ["--format"]),
    ],
)
def test_what_cannot_be_is_said(rumpus, recorded_run, words, named):
    answer = rumpus("export", recorded_run(turns()).path, *words)
    assert (answer.code, answer.out) == (4 if "-o" in words else 2, "")
    for word in named:
        assert word in answer.err


def test_what_does_not_pair_is_refused(rumpus, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(KV.splitlines(keepends=True)[2])
    answer = rumpus("export", path, "--format", "edn")
    assert (answer.code, answer.out) == (2, "")
    assert "record 0" in answer.err
    assert rumpus("export", tmp_path / "nothing", "--format", "edn").code == 2


def test_a_link_in_the_place_of_the_file_stays_and_leads_to_what_was_written(
    rumpus, recorded_run, tmp_path
):
    (tmp_path / "link").symlink_to("far")
    words = ["export", recorded_run(turns()).path, "--format", "edn", "-o", tmp_path / "link"]
    answer = rumpus(*words)
    assert answer.code == 4
    assert "leads nowhere" in answer.err
    (tmp_path / "far").touch()
    assert rumpus(*words).code == 0
    assert (tmp_path / "link").is_symlink()
    assert ":process" in (tmp_path / "far").read_text()
