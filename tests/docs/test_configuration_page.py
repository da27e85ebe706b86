"""The examples of the pages on configuration and on faults are what the program reads and runs."""

import json
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from docs.generators.option_tables import with_options
from rumpus.nemesis.registry import FAULTS, register
from rumpus.project_names import make_names
from rumpus.project_settings import find_settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
OWN_FAULTS = (DOCS / "how-to" / "own-faults.md").read_text(encoding="utf-8")
PROJECT, LIBRARY = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_a_project_is_read(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    names = make_names(find_settings(tmp_path), [])
    assert set(names.recipes_of("lock")) == {"stock-lock"}
    assert names.workload("shop") == "shop.trials:Shop"
    assert names.settings.defaults_of("lock")["seeds"] == 20


def test_the_example_of_a_library_is_read(tmp_path):
    points = [
        EntryPoint(name=name, value=value, group=group)
        for group, table in tomllib.loads(LIBRARY)["project"]["entry-points"].items()
        for name, value in table.items()
    ]
    names = make_names(find_settings(tmp_path), points)
    assert not names.warnings
    assert names.recipes_of("lock")["lease"].reference == "leaselib.locks:LeaseLock"


def test_the_table_of_options_is_up_to_date():
    assert with_options(PAGE) == PAGE, "python -m docs.generators.option_tables docs"


def test_the_example_of_a_fault_is_one(tmp_path, monkeypatch, rumpus):
    (tmp_path / "example_of_configuration_page.py").write_text(
        re.search(r"```python\n(.*?)```", OWN_FAULTS, re.DOTALL)[1]
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(FAULTS, "flap", FAULTS["kill"])  # removed again at the end
    words = ("--json", "--ensemble", "sim", "--time-limit", "10", "--seed", "1", "--nemesis")
    answer = rumpus("run", "register", *words, "example_of_configuration_page:Flap")
    assert answer.code == 0, answer
    (flap,) = json.loads(answer.out)["faults"]
    assert flap["kind"] == "flap"
    assert flap["verified"] == flap["count"] > 0


def test_something_else_is_no_fault():
    with pytest.raises(ValueError, match=r"is no subclass of rumpus\.Fault"):
        register(int, "builtins:int")
