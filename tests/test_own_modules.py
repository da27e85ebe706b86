"""Modules that a test writes and imports are its own: see ``_own_modules`` in conftest.py."""

import importlib
import sys

import pytest


@pytest.mark.parametrize("number", [1, 2])
def test_a_module_that_a_test_writes_is_not_the_next_ones(tmp_path, number):
    package = tmp_path / "own_of_a_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "numbers.py").write_text(f"NUMBER = {number}\n")
    sys.path.insert(0, str(tmp_path))
    module = importlib.import_module("own_of_a_test.numbers")
    assert number == module.NUMBER


def test_what_tests_imported_from_directories_of_theirs_is_gone():
    assert not [name for name in sys.modules if name.partition(".")[0] == "own_of_a_test"]
