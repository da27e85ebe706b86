"""The wheel puts one name into an environment, and works beside folders named as ours are."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from rumpus.nights.schedulers.schedulers import SCHEDULERS

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("checker", "harness", "nemesis", "recipes", "results", "simulation", "workloads")


IF_FULL = pytest.mark.skipif(
    "RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs it"
)


def said_by(command, **options):
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """What is built from a copy of what git has: a build leaves files where it is made."""
    place = tmp_path_factory.mktemp("wheel")
    listed = said_by(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT
    )
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() and not name.startswith("tests/"):
            (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / "source" / name, follow_symlinks=False)
    build = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    said_by([*build, "--wheel-dir", place, place / "source"])
    (found,) = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """The command in a new environment, which has our dependencies but not our checkout."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps"]
    said_by([*install, wheel])
    packages = Path(sysconfig.get_path("purelib", vars={"base": place, "platbase": place}))
    # A path alone: the file that leads to our checkout lies there too, but is read of site only.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return place / "bin" / "rumpus"


@pytest.fixture
def project(tmp_path):
    """A user's folder, with modules and packages that are called as ours are. None can be run."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('the user has {name}')")
    (tmp_path / "harness.py").write_text("raise SystemExit('the user has harness.py')")
    return tmp_path


def run(program, project, *words):
    environment = {name: word for name, word in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(project)
    command = [program, "run", "lock", "--time-limit", "3", "--nemesis", "none", *words]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_has_one_name(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.startswith("rumpus-0")} == {"rumpus"}
    assert {f"rumpus/{folder}/__init__.py" for folder in FOLDERS} <= set(names)


def test_the_wheel_has_the_files_of_schedulers(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    needed = {file for each in SCHEDULERS.values() for file in each.files.values()}
    assert {f"rumpus/nights/schedulers/ci/{file}" for file in needed} <= set(names)


@IF_FULL
def test_a_simulated_run_beside_folders_named_as_ours_are(program, project):
    result = run(program, project, "--ensemble", "sim", "--seed", "1")
    assert result.returncode == 0, result.stderr
    again = said_by([program, "check", "runs/lock/latest"], cwd=project)
    assert "Valid" in again


@IF_FULL
@pytest.mark.docker
def test_a_docker_run_beside_folders_named_as_ours_are(program, project):
    result = run(program, project, "--ensemble", "docker", "--nodes", "1")
    assert result.returncode == 0, result.stderr


TYPED = """\
import rumpus


def violations() -> int:
    result = rumpus.run("lock", recipe="fair", seeds=2)
    return len(result.anomalies)


rumpus.run("lock", seeds="twenty")
"""


@IF_FULL
def test_type_checkers_see_the_types_of_an_installed_package(program, tmp_path):
    (tmp_path / "use.py").write_text(TYPED)
    python = program.with_name("python")
    checker = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "use.py"]
    result = subprocess.run(checker, cwd=tmp_path, capture_output=True, text=True, check=False)
    (wrong,) = [line for line in result.stdout.splitlines() if line.startswith("use.py:")]
    assert wrong.startswith("use.py:9: error:")
    assert '"str"' in wrong


def test_the_package_has_every_folder_of_ours():
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"rumpus", "benchmarks"}
    assert folders == set(FOLDERS)
    for name in FOLDERS:
        assert (ROOT / "rumpus" / name).samefile(ROOT / name)
