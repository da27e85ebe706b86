"""Names of a project and of libraries: what they stand for, and which are refused or left out."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rumpus.project_names import make_names
from rumpus.project_settings import ProjectSettings, RecipeEntry
from rumpus.usage_error import UsageError

FILE = Path("/somewhere/pyproject.toml")
PROJECT = ProjectSettings(
    file=FILE,
    workloads={"shop": "shop.trials:Shop"},
    faults={"flap": "shop.faults:Flap"},
    models={"max": "shop.models:Max"},
    recipes={"mine": RecipeEntry(workload="lock", recipe="shop.locks:Mine", promises=("fifo",))},
    private=("one",),
    defaults={"time_limit": 30, "nemesis": ["kill", "flap"], "nodes": 5},
    by_workload={"shop": {"time_limit": 40}},
)


def point(kind, name, value):
    return EntryPoint(name=name, value=value, group=f"rumpus.{kind}")


@pytest.fixture(autouse=True)
def same_path(monkeypatch):
    monkeypatch.setattr("sys.path", ["/elsewhere"])


def settings_of(project=PROJECT, points=(), **given):
    return make_names(project, points).settings_of({"argv": (), **given})


def test_names_become_references():
    settings = settings_of(workload="lock", recipe="mine", promises=["tokens"])
    assert (settings.workload, settings.recipe) == ("lock", "shop.locks:Mine")
    assert settings.promises == ["fifo", "tokens"]
    assert settings_of(workload="shop").workload == "shop.trials:Shop"
    assert make_names(PROJECT, []).model("max") == "shop.models:Max"
    assert make_names(PROJECT, []).model("register") == "register"


def test_a_recipe_of_another_workload_is_not_meant():
    assert settings_of(workload="election", recipe="mine").recipe == "mine"


def test_defaults_come_after_what_is_given_and_before_the_usual():
    settings = settings_of(workload="shop", nodes=3)
    assert (settings.nodes, settings.time_limit, settings.clients) == (3, 40, 5)
    assert settings.private == ["one"]
    assert (settings.nemesis, settings.fault) == (["kill"], ["shop.faults:Flap"])


def test_a_plan_leaves_no_place_for_default_faults():
    settings = settings_of(workload="lock", plan=Path("plan.json"))
    assert settings.nemesis is None
    assert settings.fault == ()


def test_faults_are_those_of_rumpus_in_its_order_and_others_once():
    settings = settings_of(
        workload="lock", nemesis=["flap", "pause", "a.b:C", "kill", "flap"], fault=["flap"]
    )
    assert settings.nemesis == ["kill", "pause"]
    assert settings.fault == ["shop.faults:Flap", "a.b:C"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workload": "teapot"}, ["'teapot'", "lock", "shop", "package.module:Class"]),
        ({"workload": "lock", "nemesis": ["fire"]}, ["'fire'", "kill", "flap"]),
        ({"workload": "lock", "fault": ["fire"]}, ["'fire'", "kill", "flap"]),
    ],
)
def test_an_unknown_name_is_refused_with_those_there_are(given, words):
    with pytest.raises(UsageError) as refused:
        settings_of(**given)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"workloads": {"lock": "a:B"}}, "workloads.lock"),
        ({"faults": {"kill": "a:B"}}, "faults.kill"),
        ({"models": {"register": "a:B"}}, "models.register"),
        ({"recipes": {"fair": RecipeEntry(workload="lock", recipe="a:B")}}, "recipes.fair"),
        ({"recipes": {"x": RecipeEntry(workload="teapot", recipe="a:B")}}, "recipes.x"),
        ({"by_workload": {"teapot": {}}}, "defaults.teapot"),
    ],
)
def test_a_projects_name_that_cannot_be_is_refused_by_key(more, key):
    with pytest.raises(UsageError, match=rf"^{FILE}: tool\.rumpus\.{key}: "):
        make_names(ProjectSettings(file=FILE, **more), [])


def test_libraries_ship_names():
    names = make_names(
        ProjectSettings(),
        [
            point("recipes", "lock.theirs", "lib.locks:Theirs"),
            point("workloads", "stock", "lib.trials:Stock"),
            point("recipes", "stock.theirs", "lib.stock:Theirs"),
            point("faults", "fire", "lib.faults:Fire"),
        ],
    )
    assert not names.warnings
    assert names.settings_of({"argv": (), "workload": "lock", "recipe": "theirs"}).recipe == (
        "lib.locks:Theirs"
    )
    settings = names.settings_of({"argv": (), "workload": "stock", "recipe": "theirs"})
    assert (settings.workload, settings.recipe) == ("lib.trials:Stock", "lib.stock:Theirs")
    assert names.kinds(["fire"]) == ([], ["lib.faults:Fire"])


def test_the_projects_names_count_more_than_a_librarys():
    names = make_names(PROJECT, [point("workloads", "shop", "lib:Shop")])
    assert names.workload("shop") == "shop.trials:Shop"


@pytest.mark.parametrize(
    ("kind", "name", "value", "why"),
    [
        ("recipes", "theirs", "lib:X", "WORKLOAD.NAME"),
        ("recipes", "teapot.theirs", "lib:X", "no workload 'teapot'"),
        ("recipes", "lock.fair", "lib:X", "has a recipe of that name"),
        ("workloads", "lock", "lib:X", "rumpus has a workload of that name"),
        ("models", "max", "lib", "not written like package.module:Name"),
    ],
)
def test_a_broken_entry_point_is_named_and_left_out(kind, name, value, why):
    names = make_names(
        ProjectSettings(), [point(kind, name, value), point("models", "good", "lib:Good")]
    )
    (warning,) = names.warnings
    assert why in warning
    assert "is left out" in warning
    assert [each.name for each in names.named] == ["good"]
