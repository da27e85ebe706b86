"""rumpus init: a first test that runs as it is, and nothing that exists is overwritten."""

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "locks_of_init.py").write_text(
        "from kazoo.recipe.lock import Lock\n"
        "class MyLock:\n"
        "    def __init__(self, client, path): self.lock = Lock(client, path)\n"
        "    def acquire(self, timeout): return self.lock.acquire(timeout=timeout)\n"
        "    def release(self): self.lock.release()\n"
        "class NoLock:\n"
        "    def __init__(self, client, path): pass\n"
    )
    return tmp_path


def test_what_it_writes_is_a_test_of_the_recipe(project, rumpus, monkeypatch):
    answer = rumpus("init", "--workload", "lock", "--recipe", "locks_of_init:MyLock")
    assert answer.code == 0, answer
    file = project / "tests" / "test_coordination.py"
    assert answer.out.startswith("tests/test_coordination.py: written. Next:\n  pytest tests/")
    assert "rumpus run lock --recipe locks_of_init:MyLock --ensemble sim" in answer.out
    namespace = {}
    exec(compile(file.read_text(), file, "exec"), namespace)
    asked = []

    class Valid:
        def assert_valid(self):
            asked.append("valid")

    def run(*words, **options):
        asked.append((words, options))
        return Valid()

    monkeypatch.setattr("rumpus.run", run, raising=False)
    namespace["test_mylock"]()
    assert asked == [(("lock",), {"recipe": "locks_of_init:MyLock", "seeds": 5}), "valid"]


def test_without_a_recipe_it_is_an_example(project, rumpus):
    assert rumpus("init", "tests/test_first.py", "--workload", "election").code == 0
    text = (project / "tests" / "test_first.py").read_text()
    assert 'rumpus.run("election", recipe="kazoo", seeds=5).assert_valid()' in text


def test_the_projects_names_are_known(project, rumpus):
    (project / "pyproject.toml").write_text(
        '[tool.rumpus.recipes.mine]\nworkload = "lock"\nrecipe = "locks_of_init:MyLock"\n'
    )
    assert rumpus("init", "--recipe", "mine").code == 0
    assert 'recipe="mine"' in (project / "tests" / "test_coordination.py").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["taken.py"], "taken.py exists, and nothing is overwritten"),
        (["new.py", "--workload", "teapot"], "unknown workload 'teapot'"),
        (["new.py", "--recipe", "teapot"], "unknown recipe 'teapot'"),
        (
            ["new.py", "--recipe", "locks_of_init:NoLock"],
            "lacks `acquire(timeout) -> bool` and `release()`",
        ),
        (["new.py", "--recipe", "locks_of_init:Nothing"], "has no 'Nothing'; nothing was written"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(project, rumpus, words, why):
    (project / "taken.py").write_text("mine")
    answer = rumpus("init", *words)
    assert answer.code == 2
    assert why in answer.err
    assert (project / "taken.py").read_text() == "mine"
    assert not (project / "new.py").exists()
