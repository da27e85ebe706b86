import json

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from tests.rumpus.conftest import latest
from tests.sampling import one_in

PAUSE = {"at": 1.0, "kind": "pause", "targets": {"role": "leader"}, "duration": 1.7}


@one_in(4)
def test_the_curve_of_a_run_stands_in_its_report(tmp_path, capsys):
    plan, runs = tmp_path / "plan.json", tmp_path / "runs"
    plan.write_text(json.dumps({"version": 1, "entries": [PAUSE]}))
    words = ["lock", "--recipe", "kazoo-bare", "--ensemble", "sim", "--seed", "0", "--clients", "3"]
    words += ["--time-limit", "1.3", "--preemption", "blocking", "--plan", str(plan)]
    assert main(["run", *words, "--runs", str(runs)]) == 1
    run = latest(runs)
    capsys.readouterr()
    asked = ["--moments", "2", "--futures", "2", "--jobs", "2", "--json"]
    assert main(["cause", str(run.path), *asked]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["step"][0] < 1.0 <= told["step"][1]
    report = run.report.read_text()
    assert "it became likely between" in report
    assert 'class="likelihood"' in report
    assert main(["check", str(run.path)]) == 1
    assert RunDirectory(run.path).changes() == []


def test_real_servers_have_no_other_futures(tmp_path, capsys):
    case = tmp_path / "x.case.json"
    case.write_text(
        json.dumps(
            {
                "settings": {"workload": "lock", "recipe": "kazoo-bare", "ensemble": "docker"},
                "seed": 0,
                "plan": {"version": 1, "entries": []},
                "expects": {"kind": "deadlock"},
            }
        )
    )
    assert main(["cause", str(case)]) == 2
    assert "for simulated runs" in " ".join(capsys.readouterr().err.split())
