"""``rumpus compare``: what is new, gone or worse between two nights, branches, versions or runs."""

import argparse
import functools
from typing import Any

import msgspec

from rumpus.consoles import answers, print_document, print_text
from rumpus.exit_codes import ending
from rumpus.nights.comparing.comparing import compare
from rumpus.nights.comparing.comparison import Comparison
from rumpus.nights.comparing.comparison_text import headline, in_markdown_page, print_comparison
from rumpus.nights.comparing.sides import side_of
from rumpus.nights.memory.store import Store
from rumpus.usage_error import UsageError


def compare_command(arguments: argparse.Namespace) -> int:
    """Compare two sides; the exit code: 1 if B is worse, 3 if nothing can be compared, else 0.

    Raises:
        UsageError: a side names nothing, or code that is not trusted; or two forms are asked for.
        UnreadableRun, StoreError: a run or the store cannot be read.
    """
    if arguments.json and arguments.markdown:
        raise UsageError("--json and --markdown cannot be given together")
    opened = functools.partial(Store.opened, arguments.store)
    trust = arguments.trust
    a, b = (side_of(word, opened, trust=trust) for word in (arguments.a, arguments.b))
    comparison = compare(a, b)
    if arguments.json:
        print_document(comparison_document(comparison))
    elif arguments.markdown:
        print_text([in_markdown_page(comparison)])
    else:
        print_comparison(comparison, answers())
    return comparison.exit_code


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """A comparison as ``--json`` prints it. Rates are shares; figures are in their units.

    An estimate is an array: the value, and the ends of its interval of 95 %. What is infinite, or
    cannot be said, is null.
    """
    return {
        **ending(comparison.exit_code),
        "headline": headline(comparison),
        "regressions": comparison.regressions,
        **msgspec.to_builtins(comparison),
    }
