"""An example of each kind of anomaly: the story of a kept case, or of a run that a seed repeats.

``python -m docs.generators.anomaly_examples`` performs the runs and writes down their stories, for
the kinds of which there are no cases: hazards, and mistakes of no recipe here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docs.generators.claims_page import perform
from rumpus.campaigns.case import load_case
from rumpus.campaigns.replaying import ENDING

ROOT: Final = Path(__file__).resolve().parents[2]
STORIES: Final = Path(__file__).with_name("anomaly_stories.json")

_PAUSED: Final = "--nemesis client-pause --clients 2 --ensemble sim --seed 1 --strict"
RUNS: Final[Mapping[str, str]] = {
    "stale-action": f"run lock --recipe validity --action-time 3 --time-limit 8 {_PAUSED}",
    "stale-belief": f"run lock --time-limit 6 {_PAUSED}",
    "unexpected-error": "run lock --recipe docs.generators.raising_lock:RaisingLock --clients 2 "
    "--nemesis none --time-limit 2 --ensemble sim --seed 1",
    "lost-transaction": "run append --server-mutant discontinuous-committed-log --ensemble sim "
    "--nodes 5 --clients 4 --time-limit 55 --usage think=0.5 --seed 1 "
    "--plan docs/plans/staggered-kills.json",
}
"""Kind -> the arguments of ``rumpus`` whose story shows it."""

_BEST_LENGTH: Final = 9
"""Lines of the story that is chosen where several cases show a kind."""

_SIMPLE: Final = frozenset({"lock", "queue", "counter", "register", "watch"})
_SIMPLER: Final = 5
"""How many lines a story of these families may be longer, or shorter, than another's."""


@dataclass(frozen=True)
class Example:
    """A story that ends in an anomaly.

    Args:
        command: what is typed to see it.
        story: its lines, as reports have them; the last one names the anomaly.
    """

    command: str
    story: Sequence[str]


def examples() -> dict[str, Example]:
    """Kind -> its example."""
    stories = json.loads(STORIES.read_text(encoding="utf-8"))
    found = {kind: Example(f"rumpus {words}", stories[kind]) for kind, words in RUNS.items()}
    cases: dict[str, list[tuple[int, str, Sequence[str]]]] = {}
    for path in sorted((ROOT / "cases").rglob(f"*{ENDING}")):
        case = load_case(path)
        if len(case.story) < 2:
            continue
        rank = abs(len(case.story) - _BEST_LENGTH) - _SIMPLER * (path.parent.name in _SIMPLE)
        place = path.relative_to(ROOT).as_posix()
        cases.setdefault(case.expects.kind, []).append((rank, place, case.story))
    for kind, choices in cases.items():
        _, place, story = min(choices)
        found.setdefault(kind, Example(f"rumpus replay {place}", story))
    return found


def story_of(results: Mapping[str, Any]) -> list[str]:
    """The story of a run, with the anomaly last, as cases have it."""
    what, *lines = results["story"]
    return [*lines, f"so: {what}"]


def main() -> None:
    """Perform the runs, and write their stories down."""
    stories = {kind: story_of(perform(words)) for kind, words in RUNS.items()}
    STORIES.write_text(json.dumps(stories, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
