"""rumpus completion: scripts for shells, and the names that they ask for."""

import importlib
import shutil
import subprocess

import pytest

from rumpus.nemesis.registry import BUILT_IN
from rumpus.workloads.registry import WORKLOADS


def test_names_are_those_of_rumpus_and_of_the_project(rumpus, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.rumpus.faults]\nflap = "shop:Flap"\n')
    monkeypatch.chdir(tmp_path)
    assert rumpus("completion", "--names", "workloads").out.split() == list(WORKLOADS)
    assert rumpus("completion", "--names", "faults").out.split() == [*BUILT_IN, "flap"]
    assert {"fair", "kazoo", "no-recheck"} <= set(
        rumpus("completion", "--names", "recipes").out.split()
    )
    assert "register" in rumpus("completion", "--names", "models").out.split()


def test_a_shell_must_be_named(rumpus):
    answer = rumpus("completion")
    assert answer.code == 2
    assert "bash, zsh or fish" in answer.err
    assert rumpus("completion", "cmd").code == 2


def test_without_shtab_it_says_what_to_install(rumpus, monkeypatch):
    import_module = importlib.import_module

    def missing(name, *more):
        if name == "shtab":
            raise ModuleNotFoundError(name=name)
        return import_module(name, *more)

    monkeypatch.setattr(importlib, "import_module", missing)
    answer = rumpus("completion", "bash")
    assert answer.code == 4
    assert "pip install 'rumpus[completion]'" in answer.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_commands_and_options(rumpus, shell):
    pytest.importorskip("shtab", reason="the extra `completion` is not installed")
    script = rumpus("completion", shell).out
    for word in ("run", "check", "nemesis-interval", "--names workloads", "--names faults"):
        assert word in script


def test_bash_completes_by_it(rumpus, tmp_path):
    pytest.importorskip("shtab", reason="the extra `completion` is not installed")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    (tmp_path / "script").write_text(rumpus("completion", "bash").out)
    (tmp_path / "try").write_text(
        'rumpus() { echo "lock latch queue"; }\n'
        f". {tmp_path / 'script'}\n"
        "COMP_WORDS=(rumpus run la) COMP_CWORD=2\n"
        "_shtab_rumpus\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    told = subprocess.run([bash, tmp_path / "try"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["latch"]
