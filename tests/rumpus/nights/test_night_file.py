"""The file of a night: what it may say, and how it is refused."""

import json
import subprocess
import sys

import msgspec
import pytest

from rumpus.nights.night_file import NightFile, load_night_file, schema, seconds_of
from rumpus.nights.schedulers.found_recipes import FoundRecipe, night_file_for
from rumpus.usage_error import UsageError

WHOLE = """
version = 1
budget = "1h"
cases = ["cases", "more/one.case.json"]
expected = "known.toml"
shrink = 0.3

[canaries]
share = 0.2
families = "all"
own = false

[owners]
"lock / fair" = "team"

[[jobs]]
workloads = ["lock"]
recipes = ["fair", "shop.locks:Other"]
without = ["kazoo"]
worlds = ["sim", "docker"]
zookeeper = ["3.8.4"]
kazoo = ["2.10.0"]
kinds = ["usual", "short"]
profile = "brutal"
options = { clients = 3 }
weight = 2

[[jobs]]
workloads = "all"
recipes = "built-in"

[[commands]]
name = "unit tests"
run = ["pytest", "-q"]
timeout = 90
"""

EMPTY = ""

ONE_WRONG = {
    "version = 2": "version",
    "budget = 0": "budget",
    'budget = "soon"': "budget",
    "budget = -5": "budget",
    "budget = true": "budget",
    "budget = inf": "budget",
    "cases = 'cases'": "cases",
    "cases = [1]": "cases[0]",
    "expected = 1": "expected",
    "shrink = 1.5": "shrink",
    "shrink = nan": "shrink",
    "bugdet = 5": "bugdet",
    "canaries.share = -0.1": "canaries.share",
    "canaries.share = nan": "canaries.share",
    "canaries.families = 'some'": "canaries.families",
    "canaries.own = 'yes'": "canaries.own",
    "canaries.shares = 1": "shares",
    "owners.fair = 1": "owners",
    "jobs = 'all'": "jobs",
    "jobs = [{}]": "jobs[0]",
    "jobs = [{ workloads = 'lock' }]": "jobs[0].workloads",
    "jobs = [{ workloads = ['lock'], recipes = 'mine' }]": "jobs[0].recipes",
    "jobs = [{ workloads = ['lock'], without = 'fair' }]": "jobs[0].without",
    "jobs = [{ workloads = ['lock'], worlds = ['moon'] }]": "jobs[0].worlds[0]",
    "jobs = [{ workloads = ['lock'], zookeeper = '3.8' }]": "jobs[0].zookeeper",
    "jobs = [{ workloads = ['lock'], kazoo = [2.1] }]": "jobs[0].kazoo[0]",
    "jobs = [{ workloads = ['lock'], kinds = ['long'] }]": "jobs[0].kinds[0]",
    "jobs = [{ workloads = ['lock'], profile = 'mild' }]": "jobs[0].profile",
    "jobs = [{ workloads = ['lock'], options = 3 }]": "jobs[0].options",
    "jobs = [{ workloads = ['lock'], weight = 0 }]": "jobs[0].weight",
    "jobs = [{ workloads = ['lock'], weight = nan }]": "jobs[0].weight",
    "jobs = [{ workloads = ['lock'], world = 'sim' }]": "world",
    "commands = [{ name = 'x' }]": "commands[0]",
    "commands = [{ name = 'x', run = [] }]": "commands[0].run",
    "commands = [{ name = 'x', run = 'pytest' }]": "commands[0].run",
    "commands = [{ name = 1, run = ['a'] }]": "commands[0].name",
    "commands = [{ name = 'x', run = ['a'], timeout = 'never' }]": "commands[0].timeout",
}


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "nightly.toml"

    def read(text):
        path.write_text(text)
        return load_night_file(path)

    return read


def test_all_that_can_be_said_is_read(load):
    file = load(WHOLE)
    assert (file.seconds, file.cases, file.expected) == (
        3600.0,
        ("cases", "more/one.case.json"),
        "known.toml",
    )
    assert (file.canaries.share, file.canaries.families, file.canaries.own) == (0.2, "all", False)
    assert file.owners == {"lock / fair": "team"}
    first, second = file.jobs
    assert (first.recipes, first.without) == (("fair", "shop.locks:Other"), ("kazoo",))
    assert (first.worlds, first.zookeeper, first.kazoo) == (
        ("sim", "docker"),
        ("3.8.4",),
        ("2.10.0",),
    )
    assert (first.kinds, first.profile, first.weight) == (("usual", "short"), "brutal", 2)
    assert first.options == {"clients": 3}
    assert (second.workloads, second.recipes) == ("all", "built-in")
    assert file.commands[0].run == ("pytest", "-q")
    assert file.shrink == 0.3


def test_an_empty_file_has_defaults(load):
    assert load(EMPTY) == NightFile()
    assert NightFile().seconds == 1800.0


@pytest.mark.parametrize(("text", "key"), ONE_WRONG.items())
def test_one_wrong_key_is_named_with_the_file(load, tmp_path, text, key):
    with pytest.raises(UsageError) as refused:
        load(text)
    words = str(refused.value)
    assert words.startswith(f"{tmp_path / 'nightly.toml'}: ")
    assert key in words
    assert "\n" not in words


def test_what_is_no_toml_is_refused(load, tmp_path):
    with pytest.raises(UsageError, match=r"nightly\.toml: not TOML"):
        load("budget = ")
    (tmp_path / "nightly.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not TOML"):
        load_night_file(tmp_path / "nightly.toml")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(90, 90.0), (1.5, 1.5), ("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0)],
)
def test_forms_of_a_time(load, value, seconds):
    assert seconds_of(value) == seconds
    said = f'"{value}"' if isinstance(value, str) else value
    assert load(f"budget = {said}").seconds == seconds


def test_a_file_survives_as_plain_data(load):
    file = load(WHOLE)
    assert msgspec.convert(msgspec.to_builtins(file), NightFile) == file


def validated(tmp_path, *texts):
    """What check-jsonschema says of files: its code, and its words."""
    place = tmp_path / "schema.json"
    place.write_text(json.dumps(schema()))
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.toml")
        files[-1].write_text(text)
    words = ["check_jsonschema", "--schemafile", place, "--output-format", "json", *files]
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


def test_the_schema_accepts_what_the_program_reads(load, tmp_path):
    found = [FoundRecipe("lock", "shop.locks:Mine"), FoundRecipe("election", "shop.polls:Poll")]
    made = night_file_for(found)
    file = load(made)
    assert [(job.workloads, job.recipes) for job in file.jobs] == [
        (("lock",), ("shop.locks:Mine",)),
        (("election",), ("shop.polls:Poll",)),
    ]
    code, told = validated(tmp_path, WHOLE, EMPTY, made, night_file_for([]))
    assert (code, told["status"]) == (0, "ok")


BY_PROGRAM_ALONE = {"version = 2", 'budget = "soon"', "budget = 0", "budget = -5", "budget = inf"}
"""What a schema does not say: text in the form of a time, and in which range it is."""


def test_the_schema_refuses_what_the_program_refuses(tmp_path):
    texts = [
        text
        for text in ONE_WRONG
        if text not in BY_PROGRAM_ALONE and "nan" not in text and "never" not in text
    ]
    code, told = validated(tmp_path, *texts)
    assert code == 1
    refused = {each["filename"] for each in told["errors"]}
    accepted = [
        text for number, text in enumerate(texts) if str(tmp_path / f"{number}.toml") not in refused
    ]
    assert accepted == []
