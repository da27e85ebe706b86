"""How a benchmark is run: in full or ``--quick``, its table printed."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Scale:
    """How much is measured. A quick run only shows that a benchmark works."""

    quick: bool = False

    def rounds(self, full: int) -> int:
        return 1 if self.quick else full

    def seconds(self, full: float) -> float:
        return full / 20 if self.quick else full

    def count(self, full: int) -> int:
        return max(1, full // 100) if self.quick else full


def add_quick_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="the smallest sizes: shows that it works (seconds)"
    )


def run_alone(about: str | None, measure: Callable[[Scale], Table]) -> None:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_quick_option(parser)
    Console().print(measure(Scale(parser.parse_args().quick)))
