"""docs/reference/models.md is what the models say of themselves, and its example works."""

import re
from pathlib import Path

from docs.generators.models_page import models_page
from rumpus.checker.deciders.registry import MODELS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    remedy = "python -m docs.generators.models_page > docs/reference/models.md"
    assert models_page(MODELS) == PAGE, remedy


def test_every_model_says_what_decides_it():
    for name, entry in MODELS.items():
        assert entry.name == name
        assert entry.functions
        assert entry.runs
        assert entry.algorithms
        for algorithm in entry.algorithms:
            assert all((algorithm.name, algorithm.when, algorithm.cost, algorithm.source))


def test_the_example_is_a_model(rumpus, tmp_path, monkeypatch):
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "example_of_models_page.py").write_text(example)
    monkeypatch.chdir(tmp_path)
    history = tmp_path / "history.edn"
    for read, code in ((5, 0), (3, 1)):
        lines = [
            "{:process 0 :type :invoke :f :write :value 5}",
            "{:process 0 :type :ok :f :write :value 5}",
            "{:process 0 :type :invoke :f :write :value 3}",
            "{:process 0 :type :ok :f :write :value 3}",
            "{:process 1 :type :invoke :f :read :value nil}",
            f"{{:process 1 :type :ok :f :read :value {read}}}",
        ]
        history.write_text("\n".join(lines))
        answer = rumpus("check", history, "--model", "example_of_models_page:MaxRegister")
        assert answer.code == code, answer
