"""Declares one more option of a run, and prints where it has come to be.

A program of its own, as the classes of the options are made when they are imported. Its argument is
a directory for files.
"""

import contextlib
import io
import json
import os
import sys
from importlib.util import find_spec, module_from_spec
from pathlib import Path

NAME = "rumpus.runs.run_options"
DECLARATION = """
    glow: Annotated[
        int,
        Option(
            words="how brightly the holders glow",
            values=Whole(1, 9),
            needs={"sim": "simulated holders"},
            special=True,
        ),
    ] = 2
"""
PLACE = "    runs: Annotated["

spec = find_spec(NAME)
module = sys.modules[NAME] = module_from_spec(spec)
before, found, after = Path(spec.origin).read_text().partition(PLACE)
exec(compile(f"{before.rstrip()}{DECLARATION}{found}{after}", spec.origin, "exec"), vars(module))

import rumpus  # noqa: E402 - after the module above is in its place
from docs.generators import api_page, commands_page, option_tables  # noqa: E402
from rumpus.campaigns.case import decode_case  # noqa: E402
from rumpus.campaigns.shrinking import _usual_settings  # noqa: E402
from rumpus.campaigns.trial_task import Seen  # noqa: E402
from rumpus.command_line import main  # noqa: E402
from rumpus.project_settings import find_settings  # noqa: E402
from rumpus.results.fingerprint import Fingerprint  # noqa: E402

SEEN = Seen(fingerprint=Fingerprint(kind="deadlock"), promised=True, story=())
CASE = {
    "settings": {"workload": "register", "glow": 7},
    "seed": 1,
    "plan": {"version": 1, "entries": []},
    "expects": {"kind": "deadlock", "operations": [], "faults": []},
}


def printed(*words):
    """What a command line prints, on both streams."""
    to = io.StringIO()
    with (
        contextlib.redirect_stdout(to),
        contextlib.redirect_stderr(to),
        contextlib.suppress(SystemExit),
    ):
        main(words)
    return " ".join(to.getvalue().split())


def refusal(call, *arguments, **options):
    """Why a call is refused."""
    try:
        call(*arguments, **options)
    except rumpus.UsageError as error:
        return str(error)
    return "not refused"


def project(glow):
    """The defaults of a project."""
    Path("pyproject.toml").write_text(f"[tool.rumpus.defaults]\nglow = {glow}\n")
    return dict(find_settings(Path.cwd()).defaults)


def case(glow):
    """A case."""
    CASE["settings"]["glow"] = glow
    return decode_case(json.dumps(CASE).encode(), "x.case.json")


os.chdir(sys.argv[1])
run = ("run", "register", "--nemesis", "none", "--time-limit", "1", "--seed", "1", "--ensemble")
told = {
    "project": project(7),
    "wrong project": refusal(project, 10),
    "case": case(7).task().settings.glow,
    "case again": json.loads(case(7).to_json())["settings"],
    "wrong case": refusal(case, 10),
    "shrunk": [each.settings.glow for each in _usual_settings(case(7).task(), SEEN)],
}
Path("pyproject.toml").unlink()
told |= {
    "help": printed("run", "--help"),
    "wrong words": printed(*run, "sim", "--glow", "10"),
    "elsewhere": printed(*run, "docker", "--glow", "7"),
    "run": printed(*run, "sim", "--glow", "7"),
    "record": json.loads(Path("runs/latest/test.json").read_text()),
    "wrong call": refusal(rumpus.run, "register", glow=10),
    "call": rumpus.run("register", glow=7, nemesis=[], time_limit=1).command,
    "page of the API": "".join(api_page._entry("run", rumpus.run)),
    "table": option_tables.with_options("<!-- options -->\n<!-- /options -->\n"),
    "usage": "".join(commands_page._section("run")),
}
print(json.dumps(told))
