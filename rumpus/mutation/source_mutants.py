"""All mutants of a module: each is a few lines of difference, with one mistake.

Mistakes are made in the bodies of functions alone. What a module computes when it is imported,
what only a log or a reader sees, and what tells others about the recipe stay as they are.
"""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rumpus.mutation.operators import (
    Change,
    changes_of_answer,
    changes_of_expression,
    changes_of_pair,
    changes_of_statement,
    says_only,
)
from rumpus.mutation.source_text import SourceText, whole_diff

_TOLD: Final = frozenset({"__repr__", "__str__", "line"})
"""Functions that tell others about an object, or about a recipe: no client acts by them."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class SourceMutant:
    """A module with one mistake.

    Attributes:
        module: its name.
        operator: the rule that has made the mistake.
        function: where it is made, as ``Class.method``.
        line: of the mistake, counted from 1.
        statement: the line in which the statement begins that has it.
        before: the words in whose place others stand.
        after: these others; empty: none.
        diff: the mutant as a patch (``rumpus run --patch``).
    """

    module: str
    operator: str
    function: str
    line: int
    statement: int
    before: str
    after: str
    diff: str

    @property
    def id(self) -> str:
        """By which it is known as long as the module's source stays the same near it."""
        said = "\0".join(line for line in self.diff.splitlines() if not line.startswith("@@"))
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def words(self) -> str:
        """What is wrong with it, in one line."""
        if self.operator == "drop":
            return f"without `{_short(self.before)}`"
        if self.operator == "swap":
            return f"`{_short(self.after)}`, in this order"
        if not self.after:
            return f"without `{_short(self.before.strip(' ,'))}`"
        return f"`{_short(self.after)}` in place of `{_short(self.before)}`"


def path_of(module: str, *, is_package: bool) -> str:
    """The path by which a patch names a module: that of its import."""
    return module.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def mutants_of(module: str, text: str, *, is_package: bool = False) -> list[SourceMutant]:
    """All mutants of a module, no two of them alike; in the order of its lines.

    Args:
        module: its name.
        text: its source.
        is_package: whether it is the module of a package.

    Raises:
        SyntaxError: the source is no Python.
    """
    source = SourceText(text)
    seen = {_syntax(text)}
    made = []
    for function, statement, change in _changes(source):
        changed = source.replaced(change.span, change.text)
        syntax = _syntax(changed)
        if syntax is None or syntax in seen:
            continue  # no Python, or the same as another one
        seen.add(syntax)
        before = source.at(change.span)
        made.append(
            SourceMutant(
                module=module,
                operator=change.operator,
                function=function,
                line=_first_difference(text, changed),
                statement=statement,
                before=before,
                after=change.text,
                diff=whole_diff(path_of(module, is_package=is_package), text, changed),
            )
        )
    return sorted(made, key=lambda each: each.line)


def with_marks(text: str, module: str, note: str) -> str:
    """The source of a module that notes which of its statements are reached.

    Args:
        text: its source.
        module: its name.
        note: the file in which that is noted (``rumpus.mutation.marks``).
    """
    tree = ast.parse(text)
    for _, function in _functions(tree):
        for block in _blocks(function):
            block[:] = [
                part
                for each in block
                for part in (_mark(module, note, each.lineno), each)
                if not isinstance(each, ast.Global | ast.Nonlocal) or part is each
            ]
    begin = next(
        (
            number
            for number, each in enumerate(tree.body)
            if not (says_only(each) or _is_of_future(each))
        ),
        len(tree.body),
    )
    tree.body[begin:begin] = ast.parse("from rumpus.mutation.marks import reached as _reached").body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _mark(module: str, note: str, line: int) -> ast.stmt:
    (made,) = ast.parse(f"_reached({note!r}, {module!r}, {line})").body
    return made


def _is_of_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _changes(source: SourceText) -> Iterator[tuple[str, int, Change]]:
    """All mistakes: with the function and the line of the statement."""
    for name, function in _functions(source.tree):
        leaf = name.rpartition(".")[2]
        if leaf in _TOLD:
            continue
        for block in _blocks(function):
            for number, statement in enumerate(block):
                for change in _of_statement(source, function, block, number):
                    yield name, statement.lineno, change
        answers = _says(function)
        if answers == "None" and len(function.body) > 1:
            first, last = _worked(function.body)
            yield name, first.lineno, Change("does-nothing", source.span(first, last), "pass")
        if answers == "bool":
            for block in _blocks(function):
                for statement in block:
                    if isinstance(statement, ast.Return):
                        for change in changes_of_answer(source, statement):
                            yield name, statement.lineno, change


def _of_statement(
    source: SourceText, function: _Function, block: Sequence[ast.stmt], number: int
) -> Iterator[Change]:
    statement = block[number]
    if says_only(statement) or isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    yield from changes_of_statement(source, statement)
    if number + 1 < len(block):
        yield from changes_of_pair(source, statement, block[number + 1])
    if isinstance(statement, ast.Raise):
        return  # what is wrong with its words harms nobody
    method = bool(function.args.args) and function.args.args[0].arg == "self"
    for node in _expressions(statement):
        yield from changes_of_expression(source, node, in_method=method)


def _worked(body: Sequence[ast.stmt]) -> tuple[ast.stmt, ast.stmt]:
    """The first statement that is no docstring, and the last one."""
    return next((each for each in body if not says_only(each)), body[-1]), body[-1]


def _says(function: _Function) -> str:
    return "" if function.returns is None else ast.unparse(function.returns)


def _functions(tree: ast.AST, name: str = "") -> Iterator[tuple[str, _Function]]:
    """All functions, the inner ones too, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{name}{node.name}"
            yield inner, node
            yield from _functions(node, f"{inner}.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{name}{node.name}.")
        else:
            yield from _functions(node, name)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, without those of functions and classes in it."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
            for statement in list(block):
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _blocks(statement)
    for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from _blocks(each)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement itself, not those of statements in it, nor in f-strings."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        if node is not statement:
            yield node
        left += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
            and child is not getattr(node, "annotation", None)
        ]


def _syntax(text: str) -> str | None:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def _first_difference(text: str, changed: str) -> int:
    """The first line, from 1, that is not the same in both."""
    pairs = zip(text.split("\n"), changed.split("\n"), strict=False)
    return next(number for number, (a, b) in enumerate(pairs, 1) if a != b)


def _short(words: str, most: int = 70) -> str:
    words = " ".join(words.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
