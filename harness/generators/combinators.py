"""Generators made of generators. Named as in Jepsen where they do the same.

What one client does is a script (``harness.generators.script``); these join
scripts into a run.

For the order of operations, see ``harness.generators.sequencing``: ``sequence``, ``phases``,
``synchronize``, ``limit``, ``repeat``, ``cycle``, ``any_of``.

For their times, see ``harness.generators.pacing``: ``time_limit``, ``stagger``, ``delay``,
``sleep``. Durations are given in seconds, and kept in nanoseconds; they run from when their
generator is first asked.

For who runs them, see ``harness.generators.thread_assignment``: ``on_threads``, ``on_clients``,
``on_nemesis``, ``each_thread``, ``each_process``.

Everything that is random takes a ``Seed`` of its own. Where copies of a random generator are
made (``each_process``, ``cycle``), pass a function that makes each from a seed of its own, or
all will draw the same.
"""

from rumpus.harness.generators.pacing import delay, sleep, stagger, time_limit
from rumpus.harness.generators.sequencing import (
    any_of,
    cycle,
    limit,
    phases,
    repeat,
    sequence,
    synchronize,
)
from rumpus.harness.generators.thread_assignment import (
    each_process,
    each_thread,
    on_clients,
    on_nemesis,
    on_threads,
)

__all__ = [
    "any_of",
    "cycle",
    "delay",
    "each_process",
    "each_thread",
    "limit",
    "on_clients",
    "on_nemesis",
    "on_threads",
    "phases",
    "repeat",
    "sequence",
    "sleep",
    "stagger",
    "synchronize",
    "time_limit",
]
