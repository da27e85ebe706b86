"""An example of each kind of anomaly: a kept case, or a run that a seed repeats.

``python -m docs.generators.anomaly_examples`` performs the runs again (some minutes) and writes
down what they show; with names of kinds after it, only theirs. The runs of ``RUNS`` are for kinds
of which there are no cases: hazards, and mistakes of no recipe here.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from docs.generators.anomaly_scene import scene_of
from docs.generators.scene import Scene
from rumpus.campaigns.case import Case, load_case
from rumpus.campaigns.replaying import ENDING, replay_task
from rumpus.campaigns.trial_task import TrialTask
from rumpus.checker.check import all_kinds
from rumpus.runs.judged_run import judged_run
from rumpus.runs.recorded_settings import settings_of_words

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = Path(__file__).with_name("anomaly_examples.json")

_PAUSED: Final = "--nemesis client-pause --clients 2 --ensemble sim --seed 1 --strict"
RUNS: Final[Mapping[str, str]] = {
    "stale-action": f"run lock --recipe validity --action-time 3 --time-limit 8 {_PAUSED}",
    "stale-belief": f"run lock --time-limit 6 {_PAUSED}",
    "unexpected-error": "run lock --recipe docs.generators.raising_lock:RaisingLock --clients 2 "
    "--nemesis none --time-limit 2 --ensemble sim --seed 1",
    "dead-client": "run lock --recipe kazoo-bare --nodes 1 --clients 2 --nemesis none "
    "--time-limit 2 --usage auths=1 --ensemble sim --seed 1",
    "false-census": "run queue --recipe docs.generators.miscounting_queue:MiscountingQueue "
    "--clients 2 --nemesis none --time-limit 4 --usage asks=0.5 --ensemble sim --seed 1",
    "fenced": "run lock --recipe fenced --action-time 3 --time-limit 8 --nemesis client-pause "
    "--clients 2 --ensemble sim --seed 1",
    "sequence-regression": "run sequence --recipe counts-children --clients 1 --time-limit 12 "
    "--nemesis client-kill --ensemble sim --seed 0",
    "diverged-servers": "run append --server-mutant uncommitted-from-log --ensemble sim "
    "--nodes 5 --clients 6 --time-limit 38 --seed 1 --plan docs/plans/kept-by-snapshot.json",
    "latent-divergence": "run znode --server-mutant late-logging --ensemble sim --clients 5 "
    "--time-limit 8 --seed 1 --plan docs/plans/late-logging.json",
    "lost-transaction": "run append --server-mutant discontinuous-committed-log --ensemble sim "
    "--nodes 5 --clients 4 --time-limit 55 --usage think=0.5 --seed 1 "
    "--plan docs/plans/staggered-kills.json",
}
"""Kind -> the arguments of ``rumpus`` whose run shows it."""

REPLAY: Final = "replay "

_BEST_LENGTH: Final = 9
"""Lines of the story of the case that is chosen where several show a kind."""

_SIMPLE: Final = frozenset({"lock", "queue", "counter", "register", "watch"})
_SIMPLER: Final = 5
"""How many lines a story of these families may be longer, or shorter, than another's."""


class Example(msgspec.Struct, frozen=True):
    """A run that shows an anomaly.

    Attributes:
        command: the arguments of ``rumpus`` that repeat it.
        what: the anomaly in words, without its kind.
        scene: what led to it.
    """

    command: str
    what: str
    scene: Scene


def examples() -> dict[str, Example]:
    """Kind -> its example, as it was written down."""
    return msgspec.json.decode(EXAMPLES.read_bytes(), type=dict[str, Example])


def commands() -> dict[str, str]:
    """Kind -> the arguments of ``rumpus`` whose run shows it."""
    cases: dict[str, list[tuple[int, str]]] = {}
    for path in sorted((ROOT / "cases").rglob(f"*{ENDING}")):
        case = load_case(path)
        if len(case.story) < 2:
            continue
        rank = abs(len(case.story) - _BEST_LENGTH) - _SIMPLER * (path.parent.name in _SIMPLE)
        place = path.relative_to(ROOT).as_posix()
        cases.setdefault(case.expects.kind, []).append((rank, f"{REPLAY}{place}"))
    return {kind: min(choices)[1] for kind, choices in cases.items()} | dict(RUNS)


def case_of(command: str) -> Case | None:
    """The case that a command replays; None if it is another run."""
    if not command.startswith(REPLAY):
        return None
    return load_case(ROOT / command.removeprefix(REPLAY))


def task_of(command: str) -> TrialTask:
    """The run of a command."""
    case = case_of(command)
    if case is not None:
        return replay_task(case)
    return TrialTask(settings=settings_of_words(shlex.split(command)))


def example_of(kind: str, command: str) -> Example:
    """Perform the run of a command, and tell the first anomaly of a kind.

    Raises:
        ValueError: the run does not show it.
        UsageError: what the command names does not exist.
        WorkerCrash: a client's process failed by itself.
    """
    task = task_of(command)
    with judged_run(task.settings, lambda _: None, plan=task.plan) as judged:
        _, timeline, verdict = judged.judgement
        found = next((each for each in verdict.anomalies if each.kind == kind), None)
        if found is None:
            raise ValueError(f"rumpus {command} does not show {kind}")
        return Example(command, found.description, scene_of(timeline, found))


def written(known: Mapping[str, Example]) -> str:
    """Examples as they are kept: a line for each kind."""
    lines = (
        f"{msgspec.json.encode(kind).decode()}: {msgspec.json.encode(example).decode()}"
        for kind, example in sorted(known.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(kinds: Sequence[str]) -> None:
    """Perform the runs of some kinds, or of all, and write down what they show."""
    wanted = kinds or sorted(all_kinds())
    known = examples() if kinds and EXAMPLES.exists() else {}
    told = commands()
    for kind in wanted:
        known[kind] = example_of(kind, told[kind])
    EXAMPLES.write_text(written(known), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
