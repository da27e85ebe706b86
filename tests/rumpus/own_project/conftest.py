"""A project of somebody else, with its own pyproject.toml: the working directory of these tests."""

import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from rumpus.nemesis.registry import FAULTS
from tests.rumpus.conftest import no_engine, rumpus

__all__ = ["no_engine", "rumpus"]

PACKAGE = "shop_of_tests"


@pytest.fixture
def project(tmp_path, monkeypatch):
    place = tmp_path / "project"
    shutil.copytree(Path(__file__).parent / "project", place)
    monkeypatch.chdir(place)
    with patch.dict(FAULTS):  # runs make their own kinds known
        yield place
