"""The rules by which mistakes are put into a function: mutation operators.

Each rule looks at one statement, or at one expression, and says which words in the source become
which others. They make the mistakes that are made in recipes: a step that is left out, a check
that is too weak, an answer that is stale, one of several that is forgotten, a lock that is not
held, a step that comes too early. Rules of general mutation testing, for which see mutmut and
"An Analysis and Survey of the Development of Mutation Testing" (Jia and Harman, 2011), are there
as far as they make such a mistake.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rumpus.mutation.source_text import SourceText, Span


class Change(NamedTuple):
    """Other words in a source; ``operator`` is the rule's name."""

    operator: str
    span: Span
    text: str


_OPPOSITES: Final[Mapping[type[ast.cmpop], tuple[str, ...]]] = MappingProxyType(
    {
        ast.Lt: ("<=", ">="),
        ast.LtE: ("<", ">"),
        ast.Gt: (">=", "<="),
        ast.GtE: (">", "<"),
        ast.Eq: ("!=",),
        ast.NotEq: ("==",),
        ast.Is: ("is not",),
        ast.IsNot: ("is",),
        ast.In: ("not in",),
        ast.NotIn: ("in",),
    }
)
"""A comparison -> those that it is taken for: one that is off by one, and the opposite."""

_STEPS: Final = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)
_STEPS_WITH_STEPS: Final = (ast.For, ast.If, ast.Try, ast.While, ast.With)

_READS: Final = frozenset(
    {"exists", "exists_async", "get", "get_async", "get_children", "get_children_async"}
)
"""Methods of a client that look, of which the answer may be kept too long."""

_RIVALS: Final = MappingProxyType({"min": "max", "max": "min", "any": "all", "all": "any"})

_SAYING: Final = frozenset({"debug", "error", "exception", "info", "log", "print", "warning"})
"""Calls that change nothing but a log."""


def changes_of_statement(source: SourceText, statement: ast.stmt) -> Iterator[Change]:
    """What can be wrong with a statement as such."""
    span = source.span(statement)
    if _may_be_dropped(statement):
        yield Change("drop", span, "pass")
    rule = _OF_STATEMENTS.get(type(statement))
    if rule is not None:
        yield from rule(source, statement)


def changes_of_pair(source: SourceText, first: ast.stmt, second: ast.stmt) -> Iterator[Change]:
    """Two steps in the wrong order, where the second needs nothing that the first one names."""
    if not (isinstance(first, _STEPS) or isinstance(second, _STEPS)):
        return  # to move a step past a block is a mistake, to exchange two blocks is hardly one
    if not all(isinstance(each, (*_STEPS, *_STEPS_WITH_STEPS)) for each in (first, second)):
        return
    if says_only(first) or says_only(second) or _stored(first) & _named(second):
        return
    if not (_calls(first) or _calls(second)):
        return  # two assignments, whose order nobody sees
    between = source.at(Span(source.span(first).end, source.span(second).start))
    swapped = source.said(second) + between + source.said(first)
    yield Change("swap", source.span(first, second), swapped)


def changes_of_expression(
    source: SourceText, node: ast.AST, *, in_method: bool
) -> Iterator[Change]:
    """What can be wrong with an expression.

    Args:
        source: the module.
        node: the expression.
        in_method: whether there is a ``self`` that can keep something.
    """
    rule = _OF_EXPRESSIONS.get(type(node))
    if rule is not None:
        yield from rule(source, node)
    if in_method and isinstance(node, ast.Call) and _looks(node):
        where = source.span(node)
        kept = f'self.__dict__.setdefault("_kept_{node.lineno}", {source.at(where)})'
        yield Change("stale", where, kept)


def changes_of_answer(source: SourceText, statement: ast.Return) -> Iterator[Change]:
    """The other answers of a function that says yes or no."""
    if statement.value is None:
        return
    said = source.said(statement.value)
    for answer in ("True", "False"):
        if said != answer:
            yield Change("answer", source.span(statement.value), answer)


def says_only(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, an assertion, or writes to a log."""
    if isinstance(statement, ast.Assert | ast.Pass):
        return True
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Call) and _name_of(value.func) in _SAYING


def _may_be_dropped(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return statement.value is not None and not all(isinstance(t, ast.Name) for t in targets)
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call | ast.Await) and not says_only(statement)
    return isinstance(statement, ast.AugAssign | ast.Delete | ast.Raise | ast.Break)


def _of_test(source: SourceText, node: ast.If | ast.IfExp) -> Iterator[Change]:
    for answer in ("True", "False"):
        yield Change("condition", source.span(node.test), answer)


def _of_while(source: SourceText, node: ast.While) -> Iterator[Change]:
    header = Span(source.span(node).start, source.span(node.test).end)
    yield Change("loop-once", header, f"for _ in range(bool({source.said(node.test)}))")
    yield Change("condition", source.span(node.test), "False")


def _of_loop(source: SourceText, node: ast.For | ast.comprehension) -> Iterator[Change]:
    said = source.said(node.iter)
    for part in ("[:1]", "[1:]"):
        yield Change("forget-some", source.span(node.iter), f"list({said}){part}")


def _of_comprehension(
    source: SourceText, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
) -> Iterator[Change]:
    for each in node.generators:
        yield from _of_loop(source, each)
        for test in each.ifs:
            yield Change("condition", source.span(test), "True")


def _of_with(source: SourceText, node: ast.With) -> Iterator[Change]:
    last = source.span(node.items[-1].context_expr).end
    if any(item.optional_vars for item in node.items) or not source.after(last).startswith(":"):
        return
    yield Change("without-context", Span(source.span(node).start, last), "if True")


def _of_try(source: SourceText, node: ast.Try) -> Iterator[Change]:
    for handler in node.handlers:
        body = source.span(handler.body[0], handler.body[-1])
        for instead in ("raise", "pass"):
            if source.at(body) != instead:
                yield Change("handler", body, instead)
    if node.finalbody:
        yield Change("no-cleanup", source.span(node.finalbody[0], node.finalbody[-1]), "pass")


def _of_continue(source: SourceText, node: ast.Continue) -> Iterator[Change]:
    yield Change("ends-early", source.span(node), "break")


def _of_comparison(source: SourceText, node: ast.Compare) -> Iterator[Change]:
    if len(node.ops) != 1:
        return
    left, right = source.said(node.left), source.said(node.comparators[0])
    for instead in _OPPOSITES[type(node.ops[0])]:
        yield Change("comparison", source.span(node), f"{left} {instead} {right}")


def _of_and_or(source: SourceText, node: ast.BoolOp) -> Iterator[Change]:
    word = " and " if isinstance(node.op, ast.And) else " or "
    for left_out in node.values:
        kept = [f"({source.said(each)})" for each in node.values if each is not left_out]
        yield Change("one-check-less", source.span(node), f"({word.join(kept)})")


def _of_not(source: SourceText, node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield Change("negate", source.span(node), f"bool({source.said(node.operand)})")


def _of_number(source: SourceText, node: ast.Constant) -> Iterator[Change]:
    if type(node.value) in (int, float):
        yield Change("off-by-one", source.span(node), f"{node.value + 1!r}")  # type: ignore[operator] # a number


def _of_sum(source: SourceText, node: ast.BinOp) -> Iterator[Change]:
    sign = {ast.Add: "-", ast.Sub: "+"}.get(type(node.op))
    if sign is not None and not any(_is_text(each) for each in (node.left, node.right)):
        words = f"{source.said(node.left)} {sign} {source.said(node.right)}"
        yield Change("sign", source.span(node), f"({words})")


def _of_slice(source: SourceText, node: ast.Slice) -> Iterator[Change]:
    for bound in (node.lower, node.upper):
        if bound is not None:
            yield Change("whole-slice", source.span(bound), "")


def _of_call(source: SourceText, node: ast.Call) -> Iterator[Change]:
    name = _name_of(node.func)
    if name in _RIVALS and isinstance(node.func, ast.Name):
        yield Change("rival", source.span(node.func), _RIVALS[name])
    if name == "sorted" and isinstance(node.func, ast.Name) and not node.keywords:
        yield Change("unsorted", source.span(node.func), "list")
    for keyword in node.keywords:
        if keyword.arg is not None and not isinstance(keyword.value, ast.Lambda):
            yield _without(source, keyword)
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        if isinstance(argument, ast.Name | ast.Attribute) and _name_of(argument) == "version":
            yield Change("any-version", source.span(argument), "-1")


def _without(source: SourceText, keyword: ast.keyword) -> Change:
    """A call without one of its keyword arguments, and without a comma of it."""
    start, end = source.span(keyword)
    head = source.before(start).rstrip()
    if head.endswith(","):
        start = len(head[:-1].encode())
    else:
        tail = source.after(end)
        if tail.lstrip().startswith(","):
            end += len(tail[: tail.index(",") + 1].encode())
    return Change("without-argument", Span(start, end), "")


def _looks(call: ast.Call) -> bool:
    """Whether a call asks a server: by a client's method, or handing one to somebody who calls."""
    return any(_name_of(each) in _READS for each in (call.func, *call.args) if _is_method(each))


def _is_method(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _stored(statement: ast.stmt) -> set[str]:
    """The names to which a statement gives a value."""
    nodes = ast.walk(statement)
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _calls(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(statement))


def _named(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


_Rule = Callable[[SourceText, Any], Iterator[Change]]
"""A rule, which gets nodes of one kind."""

_OF_STATEMENTS: Final[Mapping[type[ast.stmt], _Rule]] = {
    ast.If: _of_test,
    ast.While: _of_while,
    ast.For: _of_loop,
    ast.With: _of_with,
    ast.Try: _of_try,
    ast.Continue: _of_continue,
}

_OF_EXPRESSIONS: Final[Mapping[type[ast.AST], _Rule]] = {
    ast.BinOp: _of_sum,
    ast.BoolOp: _of_and_or,
    ast.Call: _of_call,
    ast.Compare: _of_comparison,
    ast.Constant: _of_number,
    ast.DictComp: _of_comprehension,
    ast.GeneratorExp: _of_comprehension,
    ast.IfExp: _of_test,
    ast.ListComp: _of_comprehension,
    ast.SetComp: _of_comprehension,
    ast.Slice: _of_slice,
    ast.UnaryOp: _of_not,
}
