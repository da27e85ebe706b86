"""What the torture found, as a table."""

from collections import Counter
from dataclasses import dataclass, field

from tests.torture.commands import Ended


@dataclass
class Row:
    """One kind of torture: how many cases ended how, the most they took, and what was wrong."""

    title: str
    ways: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    memory: float = 0.0
    defects: list[str] = field(default_factory=list)

    def count(self, way: str) -> None:
        self.ways[way] += 1

    def measure(self, ended: Ended) -> None:
        self.take(ended.seconds, ended.memory)

    def take(self, seconds: float, memory: float) -> None:
        self.seconds = max(self.seconds, seconds)
        self.memory = max(self.memory, memory)

    def defect(self, words: str) -> None:
        self.defects.append(words)

    def __str__(self) -> str:
        """A line of a table in Markdown."""
        ways = ", ".join(f"{way} {number:,}" for way, number in self.ways.most_common())
        most = f"{self.seconds:.1f} s, {self.memory:.0f} MB" if self.memory else ""
        return f"| {self.title} | {ways} | {most} | {len(self.defects) or 'none'} |"


HEAD = "| what | how it ended | most CPU and memory | defects |\n|---|---|---|---|"
