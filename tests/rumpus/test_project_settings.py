"""[tool.rumpus] of pyproject.toml: which file counts, what is read, and what is refused by name."""

import pytest

from rumpus.project_settings import find_settings
from rumpus.usage_error import UsageError


@pytest.fixture
def project(tmp_path):
    def write(text, place=tmp_path):
        place.mkdir(parents=True, exist_ok=True)
        (place / "pyproject.toml").write_text(text)
        return tmp_path

    return write


def test_a_project_without_the_table_says_nothing(project):
    settings = find_settings(project("[project]\nname = 'x'"))
    assert settings.file is None
    assert settings.defaults_of("lock") == {}


def test_the_nearest_file_with_the_table_counts(project, tmp_path):
    project("[tool.rumpus.defaults]\nnodes = 5")
    project("[tool.other]\nx = 1", tmp_path / "inner")
    deep = tmp_path / "inner" / "deep"
    deep.mkdir()
    assert find_settings(deep).file == tmp_path / "pyproject.toml"
    project("[tool.rumpus]", tmp_path / "inner")
    assert find_settings(deep).file == tmp_path / "inner" / "pyproject.toml"
    assert find_settings(deep).defaults_of() == {}


def test_everything_is_read(project):
    settings = find_settings(
        project(
            """
            [tool.rumpus]
            private = ["one"]
            shared = ["two"]
            workloads = { shop = "shop.trials:Shop" }
            faults = { flap = "shop.faults:Flap" }
            models = { max = "shop.models:Max" }
            [tool.rumpus.recipes.mine]
            workload = "lock"
            recipe = "shop.locks:Mine"
            promises = ["fifo"]
            [tool.rumpus.defaults]
            time-limit = 30
            nemesis = "kill, pause"
            [tool.rumpus.defaults.lock]
            time-limit = 40
            seeds = 20
            """
        )
    )
    assert (settings.private, settings.shared) == (("one",), ("two",))
    assert settings.workloads == {"shop": "shop.trials:Shop"}
    assert settings.faults == {"flap": "shop.faults:Flap"}
    assert settings.models == {"max": "shop.models:Max"}
    mine = settings.recipes["mine"]
    assert (mine.workload, mine.recipe, mine.promises) == ("lock", "shop.locks:Mine", ("fifo",))
    assert settings.defaults_of("shop") == {"time_limit": 30, "nemesis": ["kill", "pause"]}
    assert settings.defaults_of("lock") == {
        "time_limit": 40,
        "nemesis": ["kill", "pause"],
        "seeds": 20,
    }


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ("[tool", "not TOML", "Expected"),
        ("[tool]\nrumpus = 3", "tool.rumpus", "Expected `object`, got `int`"),
        ("[tool.rumpus]\nfoo = 1", "tool.rumpus", "unknown field `foo`; the keys are recipes"),
        (
            "[tool.rumpus.defaults]\nnodes = 'a'",
            "tool.rumpus.defaults.nodes",
            "'a' is not a whole number",
        ),
        (
            "[tool.rumpus.defaults]\nnodes = 10",
            "tool.rumpus.defaults.nodes",
            "10 is not from 1 to 9",
        ),
        ("[tool.rumpus.defaults]\ntime_limit = 1", "tool.rumpus.defaults", "time-limit"),
        ("[tool.rumpus.defaults.lock]\nx = 1", "tool.rumpus.defaults.lock", "`x`; the keys are"),
        ("[tool.rumpus.recipes]\nm = 'a:b'", "tool.rumpus.recipes.m", "got `str`"),
        ("[tool.rumpus.recipes.m]\nworkload = 'lock'", "tool.rumpus.recipes.m", "`recipe`"),
        (
            "[tool.rumpus.recipes.m]\nworkload = 'lock'\nrecipe = 'ab'",
            "tool.rumpus.recipes.m",
            "'ab' is not written like package.module:Name",
        ),
        ("[tool.rumpus.workloads]\nshop = 3", "tool.rumpus.workloads.shop", "3 is not written"),
        ("[tool.rumpus.models]\n'a b' = 'a:b'", "tool.rumpus.models.a b", "letters, digits"),
        ("[tool.rumpus]\nprivate = ['a.b']", "tool.rumpus.private", "top-level package"),
        ("[tool.rumpus]\nprivate = ['a']\nshared = ['a']", "tool.rumpus.shared", "choose one"),
        ("[tool.rumpus]\nshared = ['kazoo']", "tool.rumpus.shared", "leave it out"),
        ("[tool.rumpus]\nshared = ['a', 'rumpus']", "tool.rumpus.shared", "name other packages"),
        ("[tool.rumpus]\nshared = ['os']", "tool.rumpus.shared", "name other packages"),
    ],
)
def test_what_cannot_be_is_refused_by_file_and_key(project, text, key, why):
    place = project(text)
    with pytest.raises(UsageError) as refused:
        find_settings(place)
    assert str(refused.value).startswith(f"{place / 'pyproject.toml'}: {key}")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (["test.json", "history.jsonl"], "it lies in the run"),
        (["test.json", "seal.json"], "it lies in the run"),
        (["case.case.json", "versions.txt"], "it lies beside the case case.case.json"),
        (["../test.json", "../seal.json"], "it lies in the run"),
    ],
)
def test_a_file_that_came_with_a_run_or_a_case_is_no_projects(project, tmp_path, files, why):
    sent = tmp_path / "runs" / "sent"
    project("[tool.rumpus.defaults]\nnodes = 5")
    project("[tool.rumpus.defaults]\nnodes = 9", sent)
    for each in files:
        (sent / each).write_text("{}")
    settings = find_settings(sent)
    assert settings.file == tmp_path / "pyproject.toml"
    (words,) = settings.ignored
    assert words.startswith(f"{sent / 'pyproject.toml'} is ignored: {why}")
    project("[tool.other]", sent)
    assert not find_settings(sent).ignored


def test_a_project_with_a_file_of_that_name_or_with_a_folder_of_cases_is_one(project, tmp_path):
    project("[tool.rumpus.defaults]\nnodes = 5")
    (tmp_path / "test.json").write_text("{}")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "one.case.json").write_text("{}")
    settings = find_settings(tmp_path / "cases")
    assert (settings.file, settings.ignored) == (tmp_path / "pyproject.toml", [])
