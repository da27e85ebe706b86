"""Performs pipelines of examples/ci on this machine, as far as they are shell.

`rumpus` itself is tested elsewhere. Here a program of that name comes first on the path, which
notes what it was asked and leaves what a night leaves. pip is noted, too. What a pipeline uses of
its server (actions, caches, artifacts) is noted and not performed.
"""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"

RUMPUS = r"""
import json, os, subprocess, sys
from pathlib import Path

asked = sys.argv[1:]
with open(os.environ["ASKED"], "a") as file:
    file.write(json.dumps(["rumpus", *asked]) + "\n")
if asked[0] == "merge":
    for word in asked[1 : asked.index("--output")]:
        json.loads(Path(word).read_text())
given = "--output" in asked
place = Path(asked[asked.index("--output") + 1] if given else "runs/nights/2026-11-26")
place.mkdir(parents=True)
if not given:
    Path("runs/nights/latest").symlink_to("2026-11-26")
code = int(os.environ.get("NIGHT", "0"))
night = {"version": 1, "name": "2026-11-26", "outcome": "valid", "exit_code": code, "counts": {}}
night |= {"headline": "1 new failure" if code else "all is well", "failures": [], "troubles": []}
if code:
    what = "lock / warehouse.lock:Lock: double-grant"
    rest = {"fingerprint": "double-grant", "owner": "", "case": "cases/a.case.json", "story": []}
    night["failures"] = [{"id": "0123456789", "what": what, "state": "new", **rest}]
(place / "night.json").write_text(json.dumps(night))
(place / "summary.md").write_text("# " + night["headline"] + "\n\n| | |\n|---|---|\n")
(place / "junit.xml").write_text("<testsuites/>")
store = Path("runs/nights.sqlite")
store.write_text((store.read_text() if store.exists() else "") + "a night\n")
if "--notify" in asked:
    subprocess.run(asked[asked.index("--notify") + 1], shell=True, check=True)
sys.exit(code)
"""

PYTHON = r"""
import json, os, subprocess, sys
from pathlib import Path

asked = sys.argv[1:]
with open(os.environ["ASKED"], "a") as file:
    file.write(json.dumps(["python", *asked]) + "\n")
if asked[:2] == ["-m", "venv"]:
    (Path(asked[2]) / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("python", "rumpus"):
        (Path(asked[2]) / "bin" / name).unlink(missing_ok=True)
        (Path(asked[2]) / "bin" / name).symlink_to(Path(sys.argv[0]).parent / name)
elif asked[:2] != ["-m", "pip"]:
    sys.exit(subprocess.run([sys.executable, *asked]).returncode)
"""


class Machine:
    """A project in a folder, and the machine that has it. What was asked is in `asked`."""

    def __init__(self, place, **environment):
        self.project = place / "project"
        self.project.mkdir(parents=True)
        self._asked = place / "asked"
        self.bin = place / "bin"
        self.bin.mkdir()
        for name, text in (("rumpus", RUMPUS), ("python", PYTHON), ("python3", PYTHON)):
            self.add(name, f"#!{sys.executable}\n{text}")
        inherited = {key: value for key, value in os.environ.items() if key in ("HOME", "LANG")}
        self.environment = {
            **inherited,
            "PATH": f"{self.bin}:{os.defpath}",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ASKED": str(self._asked),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **environment,
        }

    def add(self, name, text):
        """Put a program on the path, before all others."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, script, *shell, **environment):
        """Run a script in the project, as a completed process."""
        return subprocess.run(
            [*(shell or ("bash", "-eo", "pipefail")), "-c", script],
            cwd=self.project,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def asked(self):
        """The commands that were run: programs and their arguments."""
        lines = self._asked.read_text().splitlines() if self._asked.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def nights(self):
        """What `rumpus` was asked, as lines."""
        return [" ".join(words) for words in self.asked if words[0] == "rumpus"]

    @property
    def installed(self):
        """What pip was asked to install."""
        (words,) = [words for words in self.asked if words[1:3] == ["-m", "pip"]]
        assert words[3] == "install"
        return words[4:]


def loaded(path):
    return YAML(typ="safe").load(path.read_text())


def simple(script):
    """Whether a script is checked by reading: two lines at most."""
    return len(script.strip().splitlines()) <= 2


class Workflow:
    """The jobs of a workflow of GitHub on a machine, for an event.

    Actions are noted, with what they were given, and do nothing. Conditions and expressions count.
    """

    def __init__(self, path, machine, event, **contexts):
        self._document = loaded(path)
        self._machine = machine
        self.actions = []
        self.outputs = []
        self._contexts = {
            "github": SimpleNamespace(
                event_name=event, ref="refs/heads/main", run_id=7, run_attempt=1
            ),
            **{name: _Empty(contexts.get(name, {})) for name in ("vars", "inputs", "matrix")},
        }
        self.environment = self._values(self._document.get("env", {}))

    def perform(self, name, **environment):
        """Do a job's steps; whether it was green. None if it is not for this event."""
        job = self._document["jobs"][name]
        self._failed = False
        if not self._holds(job.get("if", "true")):
            return None
        own = self._values(job.get("env", {}))
        for step in job["steps"]:
            if not self._holds(step.get("if", "true")):
                continue
            if "uses" in step:
                self.actions.append((step["uses"], self._values(step.get("with", {}))))
                continue
            own_of_step = self._values(step.get("env", {}))
            done = self._machine.run(
                step["run"], **self.environment, **own, **own_of_step, **environment
            )
            self.outputs.append(done.stdout + done.stderr)
            self._failed |= done.returncode != 0
        return not self._failed

    def of_job(self, name, key):
        """A value of a job, with its expressions evaluated."""
        return self._values(self._document["jobs"][name][key])

    def used(self, action):
        """What an action was given, each time it was used."""
        return [given for used, given in self.actions if used.partition("@")[0] == action]

    def _holds(self, condition):
        words = condition.removeprefix("${{").removesuffix("}}").strip()
        regardless = "always()" in words or "cancelled()" in words
        return (regardless or not self._failed) and bool(self._evaluated(words))

    def _values(self, values):
        return {key: self._value(value) for key, value in values.items()}

    def _value(self, value):
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"\$\{\{([^}]*)\}\}", value)
        if found:
            result = self._evaluated(found[1])
            return result if isinstance(result, bool) else str(result)
        return re.sub(r"\$\{\{([^}]*)\}\}", lambda each: str(self._evaluated(each[1])), value)

    def _evaluated(self, expression):
        words = expression.strip().replace("&&", " and ").replace("||", " or ")
        words = re.sub(r"!(?!=)", " not ", words)
        project = self._machine.project
        functions = {
            "always": lambda: True,
            "cancelled": lambda: False,
            "hashFiles": lambda name: "digest" if (project / name).exists() else "",
            "true": True,
        }
        return eval(words.strip(), {"__builtins__": {}}, {**functions, **self._contexts})


class _Empty:
    """A context of GitHub's: what is not there is empty."""

    def __init__(self, values):
        self._values = defaultdict(str, values)

    def __getattr__(self, name):
        return self._values[name]


def jenkins_stage(text, name):
    """The scripts of a stage of a Jenkinsfile, as the shell gets them."""
    stage = text.partition(f"stage('{name}')")[2].partition("stage('")[0].partition("\n    post")[0]
    found = re.findall(r"\bsh (?:'''(.*?)'''|'(.*?)')(?=\s|$)", stage, re.DOTALL)
    return [(long or short).replace("\\\\", "\\") for long, short in found]


def said_of_form(kind, path):
    """What the schema of a server says of a file, as a completed process."""
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}"]
    return subprocess.run([*words, path], capture_output=True, text=True, check=False)


def git(place, *words):
    """What git prints in a folder."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *words], cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout
