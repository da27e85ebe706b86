import ast
import subprocess
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import rumpus.recipes.contests.fair_contest
import rumpus.recipes.latch.tally_latch
import rumpus.recipes.lock.contest_lock
from rumpus.mutation import marks
from rumpus.mutation.source_mutants import mutants_of, with_marks


def made(body: str, operator: str) -> list[str]:
    """What one operator makes of a function's body, without its header."""
    head = "def f(self, a, b):\n"
    text = head + textwrap.indent(textwrap.dedent(body).strip() + "\n", "    ")
    found = []
    for mutant in mutants_of("shop.locks", text):
        if mutant.operator == operator:
            lines = textwrap.dedent(applied(mutant.diff, text).removeprefix(head))
            found.append(lines.strip())
    return found


def applied(diff: str, text: str) -> str:
    """What a diff of one change with all of a short text around it makes of the text."""
    lines = text.splitlines(keepends=True)
    begin = int(diff.splitlines()[2].split()[1].lstrip("-").partition(",")[0]) - 1
    body = [line for line in diff.splitlines(keepends=True)[3:] if not line.startswith("\\")]
    old = [line[1:] for line in body if line[0] in " -"]
    new = [line[1:] for line in body if line[0] in " +"]
    assert lines[begin : begin + len(old)] == old
    return "".join(lines[:begin] + new + lines[begin + len(old) :])


@pytest.mark.parametrize(
    ("body", "operator", "expected"),
    [
        ("self.go()\nreturn a", "drop", ["pass\nreturn a"]),
        ("self.x = a\nx = a", "drop", ["pass\nx = a"]),
        ("log.info(a)\n'''words'''\nassert a", "drop", []),
        ("self.clear()\nself.look()", "swap", ["self.look()\nself.clear()"]),
        ("x = a\nself.look(x)", "swap", []),
        ("self.x = a\nself.y = b", "swap", []),
        (
            "self.clear()\nfor x in a:\n    self.watch(x)",
            "swap",
            ["for x in a:\n    self.watch(x)\nself.clear()"],
        ),
        (
            "if a and b:\n    self.go()",
            "one-check-less",
            ["if ((b)):\n    self.go()", "if ((a)):\n    self.go()"],
        ),
        ("return a < b", "comparison", ["return a <= b", "return a >= b"]),
        ("return a is None", "comparison", ["return a is not None"]),
        ("while a:\n    self.go()", "loop-once", ["for _ in range(bool(a)):\n    self.go()"]),
        (
            "for x in a:\n    self.go(x)",
            "forget-some",
            ["for x in list(a)[:1]:\n    self.go(x)", "for x in list(a)[1:]:\n    self.go(x)"],
        ),
        ("with self.lock:\n    self.go()", "without-context", ["if True:\n    self.go()"]),
        ("with self.lock as x:\n    self.go()", "without-context", []),
        (
            "try:\n    self.go()\nexcept E:\n    self.stop()",
            "handler",
            [
                "try:\n    self.go()\nexcept E:\n    raise",
                "try:\n    self.go()\nexcept E:\n    pass",
            ],
        ),
        (
            "try:\n    self.go()\nfinally:\n    self.stop()",
            "no-cleanup",
            ["try:\n    self.go()\nfinally:\n    pass"],
        ),
        ("self.go(a, ephemeral=True)", "without-argument", ["self.go(a)"]),
        (
            "self.go(ephemeral=True, b=b)",
            "without-argument",
            ["self.go( b=b)", "self.go(ephemeral=True)"],
        ),
        ("self.c.delete(a, stat.version)", "any-version", ["self.c.delete(a, -1)"]),
        ("return a[b:]", "whole-slice", ["return a[:]"]),
        ("return min(a)", "rival", ["return max(a)"]),
        ("return sorted(a)", "unsorted", ["return list(a)"]),
        ("return a - 1", "off-by-one", ["return a - 2"]),
        ("return a - 1", "sign", ["return (a + 1)"]),
        (
            "return self.client.get_children(a)",
            "stale",
            ['return self.__dict__.setdefault("_kept_2", self.client.get_children(a))'],
        ),
        (
            "return self.ask(self.client.exists_async, a)",
            "stale",
            ['return self.__dict__.setdefault("_kept_2", self.ask(self.client.exists_async, a))'],
        ),
    ],
)
def test_an_operator(body: str, operator: str, expected: list[str]) -> None:
    assert made(body, operator) == expected


def test_a_function_that_says_yes_or_no_says_the_other() -> None:
    text = "def held(self) -> bool:\n    return self._believes\n"
    answers = [m.after for m in mutants_of("locks", text) if m.operator == "answer"]
    assert answers == ["True", "False"]


def test_umlauts_before_a_change_do_not_move_it() -> None:
    text = 'def f(a):\n    x = "ÄÖÜ" + a.ß(1); a.go()\n    return x\n'
    assert any('x = "ÄÖÜ" + a.ß(1); pass' in mutant.diff for mutant in mutants_of("locks", text))


@pytest.mark.parametrize(
    "module",
    [
        rumpus.recipes.contests.fair_contest,
        rumpus.recipes.latch.tally_latch,
        rumpus.recipes.lock.contest_lock,
    ],
)
def test_all_mutants_of_a_recipe_are_different_python_that_git_can_apply(
    module: object, tmp_path: Path
) -> None:
    file = str(module.__file__)  # type: ignore[attr-defined]  # a module
    text = Path(file).read_text("utf-8")
    mutants = mutants_of("shop.locks", text)
    assert len(mutants) > 50
    assert len({each.id for each in mutants}) == len(mutants)
    dumps = Counter[str]()
    for each in mutants:
        changed = applied(each.diff, text)
        dumps[ast.dump(ast.parse(changed))] += 1
        assert changed.splitlines()[each.line - 1] != text.splitlines()[each.line - 1]
    assert ast.dump(ast.parse(text)) not in dumps
    assert set(dumps.values()) == {1}
    (tmp_path / "shop").mkdir()
    for each in mutants[::10]:
        (tmp_path / "shop" / "locks.py").write_text(text)
        subprocess.run(["git", "apply"], input=each.diff.encode(), cwd=tmp_path, check=True)
        assert (tmp_path / "shop" / "locks.py").read_text() == applied(each.diff, text)


def test_marks_note_the_statements_that_are_reached_and_change_nothing_else(
    tmp_path: Path,
) -> None:
    text = textwrap.dedent(
        '''
        """Words."""
        from __future__ import annotations

        def f(a):
            """More words."""
            total = 0
            for x in range(a):
                if x > 1:
                    total += x
                elif x == 7:
                    total = -1
            try:
                return total / a
            except ZeroDivisionError:
                return None
        '''
    )
    note = str(tmp_path / "note")
    namespace: dict[str, object] = {}
    exec(with_marks(text, "shop", note), namespace)
    plain: dict[str, object] = {}
    exec(text, plain)
    assert namespace["f"](4) == plain["f"](4) == 5 / 4  # type: ignore[operator]  # functions
    assert {line for _, line in marks.noted(Path(note))} == {6, 7, 8, 9, 10, 11, 13, 14}
    namespace["f"](0)  # type: ignore[operator]  # a function
    assert ("shop", 16) in marks.noted(Path(note))
