"""The pipelines of examples/ci for GitLab and Jenkins, and what all of them install.

`rumpus` and pip are stand-ins here (`pipelines.py`): what they do is tested elsewhere.
"""

import re

import pytest

from tests.examples.pipelines import CI, git, jenkins_stage, loaded, said_of_form

GITHUB = sorted((CI / "github").glob("*.yml"))
GITLAB = CI / "gitlab" / "rumpus-nightly.gitlab-ci.yml"
JENKINS = (CI / "jenkins" / "Jenkinsfile").read_text()
INSTALLABLE = '[build-system]\nrequires = ["setuptools"]\n'


class TestGitlab:
    document = loaded(GITLAB)

    def perform(self, machine, name, **environment):
        """A job's script, then what comes after it, whatever came of it."""
        job = {**self.document[".rumpus"], **self.document[name]}
        script = "\n".join([*job["before_script"], *job["script"]])
        done = machine.run(script, **job["variables"], **environment)
        after = machine.run("\n".join(job["after_script"]))
        assert after.returncode == 0
        return done, after, job

    def test_the_form(self, tmp_path):
        done = said_of_form("gitlab-ci", GITLAB)
        assert done.returncode == 0, done.stdout
        wrong = tmp_path / "wrong.yml"
        wrong.write_text(GITLAB.read_text().replace("policy: pull", "policy: take"))
        assert said_of_form("gitlab-ci", wrong).returncode == 1

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_night(self, machine, code):
        done, after, job = self.perform(machine, "rumpus-night", NIGHT=str(code))
        assert done.returncode == code
        assert machine.nights == [
            "rumpus nightly --budget 30m --output runs/night",
            "rumpus nights --html runs/night/pages",
        ]
        assert machine.installed == ["rumpus[docker]"]
        assert after.stdout.startswith("# ")
        assert job["cache"]["when"] == job["artifacts"]["when"] == "always"
        (store,) = job["cache"]["paths"]
        report = job["artifacts"]["reports"]["junit"]
        for name in (store, report, *job["artifacts"]["paths"]):
            assert (machine.project / name).exists()

    def test_a_merge_request_only_reads_the_store(self, machine):
        done, _, job = self.perform(
            machine, "rumpus-changed", CI_MERGE_REQUEST_DIFF_BASE_SHA="abc", NIGHT="1"
        )
        assert done.returncode == 1
        assert machine.nights == [
            "rumpus nightly --changed --base abc --budget 5m --output runs/night"
        ]
        assert job["cache"]["policy"] == "pull"
        assert job["cache"]["key"] == self.document["rumpus-night"]["cache"]["key"]

    def test_each_job_is_for_its_own_kind_of_pipeline(self):
        kinds = {
            name: re.findall('"(.*?)"', " ".join(rule["if"] for rule in job["rules"]))
            for name, job in self.document.items()
            if not name.startswith(".")
        }
        assert kinds == {"rumpus-night": ["schedule"], "rumpus-changed": ["merge_request_event"]}

    def test_a_night_that_did_not_begin(self, machine):
        machine.add("rumpus", "#!/bin/sh\nexit 2\n")
        done, after, _ = self.perform(machine, "rumpus-night")
        assert (done.returncode, after.stdout) == (2, "")


class TestJenkins:
    """No schema of it can be had offline, so only its shell is tested, and its braces."""

    def perform(self, machine, *stages, **environment):
        """Scripts of stages until one fails, as Jenkins runs them; its exit code."""
        for script in (script for stage in stages for script in jenkins_stage(JENKINS, stage)):
            code = machine.run(script, "sh", "-xe", **environment).returncode
            if code:
                return code
        return 0

    def test_it_is_whole(self):
        without_texts = re.sub(r"'''.*?'''|'[^'\n]*'|//[^\n]*", "", JENKINS, flags=re.DOTALL)
        for opening, closing in ("{}", "()"):
            assert without_texts.count(opening) == without_texts.count(closing) > 0
        assert "'" not in without_texts

    @pytest.mark.parametrize("code", [0, 1])
    def test_two_nights_in_one_workspace(self, machine, code):
        for _ in range(2):
            assert self.perform(machine, "Install", "Night", NIGHT=str(code)) == code
        assert machine.nights == ["rumpus nightly --budget 30m --output runs/night"] * 2
        assert (machine.project / "runs" / "nights.sqlite").read_text() == "a night\n" * 2
        for kept in re.findall(r"(?:testResults|artifacts): '(.*?)'", JENKINS):
            assert any(machine.project.glob(kept)), kept

    def test_a_build_without_a_night_reports_none(self, machine):
        self.perform(machine, "Install", "Night")
        assert (machine.project / "runs" / "night").exists()
        assert self.perform(machine, "Install") == 0
        assert not (machine.project / "runs" / "night").exists()
        assert (machine.project / "runs" / "nights.sqlite").exists()

    def test_what_is_installed(self, machine):
        assert self.perform(machine, "Install", RUMPUS_REQUIREMENT="rumpus == 1") == 0
        assert machine.installed == ["rumpus == 1"]

    def test_a_change_request(self, machine, tmp_path):
        origin = tmp_path / "origin"
        origin.mkdir()
        git(origin, "init", "--quiet", "--initial-branch=main")
        git(origin, "commit", "--quiet", "--allow-empty", "--message=first")
        git(machine.project, "init", "--quiet")
        git(machine.project, "remote", "add", "origin", origin)
        assert self.perform(machine, "Install", "Change", CHANGE_TARGET="main") == 0
        assert machine.nights == [
            "rumpus nightly --changed --base origin/main --budget 5m --output runs/night"
        ]
        assert git(machine.project, "log", "--format=%s", "origin/main") == "first\n"


class TestInstallation:
    """A requirement, the project's own ones and the project, by one command of pip."""

    scripts = (
        *(
            step["run"]
            for path in GITHUB
            for job in loaded(path)["jobs"].values()
            for step in job["steps"]
            if "pip install" in step.get("run", "")
        ),
        *loaded(GITLAB)[".rumpus"]["before_script"],
        jenkins_stage(JENKINS, "Install")[-1],
    )

    @pytest.mark.parametrize("script", dict.fromkeys(scripts), ids=("yaml", "jenkins"))
    @pytest.mark.parametrize(
        ("files", "installed"),
        [
            ({}, []),
            ({"pyproject.toml": "[tool.rumpus]\n# a [build-system]\n"}, []),
            ({"pyproject.toml": INSTALLABLE}, ["--editable", "."]),
            ({"pyproject.toml": f"\r\n{INSTALLABLE}"}, ["--editable", "."]),
            (
                {"pyproject.toml": INSTALLABLE, "requirements.txt": "kazoo"},
                ["--requirement", "requirements.txt", "--editable", "."],
            ),
            ({"requirements.txt": "kazoo"}, ["--requirement", "requirements.txt"]),
        ],
    )
    def test_what_the_repository_has(self, machine, script, files, installed):
        for name, text in files.items():
            (machine.project / name).write_text(text)
        machine.run("python3 -m venv .venv")
        shell = ("sh", "-xe") if script == self.scripts[-1] else ()
        done = machine.run(script, *shell, RUMPUS_REQUIREMENT="rumpus")
        assert done.returncode == 0, done.stderr
        assert machine.installed == ["rumpus", *installed]
