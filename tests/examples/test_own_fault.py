from tests.examples.conftest import python_in
from tests.sampling import one_in


@one_in(4)
def test_a_fault_of_its_own_breaks_one_lock_and_not_the_other(run_example):
    told, outcomes = run_example("own_fault", "--rumpus-seeds", "1")
    assert outcomes == {"passed": 2}, told


def test_the_fault_has_a_name_on_the_command_line(tmp_path):
    words = "lock", "--recipe", "harbour.berth:Berth", "--nemesis", "queue-clearing"
    where = "--ensemble", "sim", "--time-limit", "6", "--seed", "0", "--runs", tmp_path / "runs"
    done = python_in("own_fault", "rumpus.program", "run", *words, *where)
    assert done.returncode == 1, done.stdout
    assert "queue-clearing: in force" in done.stdout
