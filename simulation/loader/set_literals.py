"""Rewrites set literals, set comprehensions and the like, so that they make ordered sets.

Calls of ``set`` need no rewriting, as the loader replaces that builtin.
"""

import ast
from bisect import bisect_left
from collections.abc import Sequence
from opcode import opmap
from types import CodeType
from typing import Any, Final

HIDDEN_NAME: Final = "__ordered_set__"
"""The name under which rewritten code finds the ordered set among its builtins."""

_VIEWS: Final = ("keys", "items")
_SET_OPERATORS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)


_MAKING_SETS: Final = (opmap["BUILD_SET"], opmap["SET_ADD"], opmap["SET_UPDATE"])


def may_make_sets(code: CodeType) -> bool:
    """Whether ``order_sets`` might change the source of this compiled code.

    True where in doubt: constant sets that are only used by ``in`` count, too, and so does every
    function that names ``keys`` or ``items`` and has a binary operator.
    """
    operations = code.co_code[::2]
    return (
        any(operation in operations for operation in _MAKING_SETS)
        or any(isinstance(constant, frozenset) for constant in code.co_consts)
        or (opmap["BINARY_OP"] in operations and any(method in code.co_names for method in _VIEWS))
        or any(
            may_make_sets(constant) for constant in code.co_consts if isinstance(constant, CodeType)
        )
    )


class _Rewriter(ast.NodeTransformer):
    """Rewrites the statements that have one of some lines; the others it does not visit.

    Args:
        lines: numbers of lines, in ascending order.
    """

    def __init__(self, lines: Sequence[int]) -> None:
        self._lines = lines

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", ())
            first = min((each.lineno for each in decorators), default=node.lineno)
            place = bisect_left(self._lines, first)
            last = node.end_lineno or first
            if place == len(self._lines) or self._lines[place] > last:
                return node
        return super().visit(node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _ordered(node, ast.List(elts=node.elts, ctx=ast.Load()))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _ordered(node, ast.ListComp(elt=node.elt, generators=node.generators))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        # The right operand of ``in`` stays a set: its order does not matter, and the compiler
        # makes a constant of it. Only its elements are rewritten.
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            right = node.comparators[0]
            if isinstance(right, ast.Set):
                node.left = self.visit(node.left)
                self.generic_visit(right)
                return node
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        # The results of set operators on dictionary views are builtin sets.
        if isinstance(node.op, _SET_OPERATORS) and (_is_view(node.left) or _is_view(node.right)):
            node.left = _ordered(node.left, node.left)
            node.right = _ordered(node.right, node.right)  # views take any iterable
        return node


def _is_view(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _VIEWS
        and not node.args
        and not node.keywords
    )


def _ordered(place: ast.expr, content: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(HIDDEN_NAME, ast.Load()), [content], [])
    return ast.fix_missing_locations(ast.copy_location(call, place))


def order_sets(tree: ast.Module, source: bytes) -> ast.Module:
    """Rewrite set literals, set comprehensions and set operators of ``d.keys()``, ``d.items()``.

    Each becomes a call of ``HIDDEN_NAME`` with the elements in their order. Lines stay as they
    are, for tracebacks. Right operands of ``in`` stay sets, as nobody sees their order.

    Args:
        tree: of the module.
        source: of the module, from which the tree was made.
    """
    lines = [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if b"{" in line or any(method.encode() in line for method in _VIEWS)
    ]
    rewritten: ast.Module = _Rewriter(lines).visit(tree)
    return rewritten
