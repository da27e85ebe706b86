"""How a benchmark is run: in full or ``--quick``, its table printed."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Scale:
    """How much is measured. A quick run shows that a benchmark works, not much more."""

    quick: bool = False

    def rounds(self, full: int) -> int:
        return min(full, 2) if self.quick else full

    def seconds(self, full: float) -> float:
        return full / 3 if self.quick else full

    def count(self, full: int) -> int:
        return max(1, full // 10) if self.quick else full


def run_alone(about: str | None, measure: Callable[[Scale], Table]) -> None:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a short version")
    Console().print(measure(Scale(parser.parse_args().quick)))
