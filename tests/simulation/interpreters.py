"""Fresh interpreters in which everything is different that must not matter to a world."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Circumstances:
    """How an interpreter is started, and what it does before."""

    hash_seed: str
    before: str = ""
    environment: dict[str, str] = field(default_factory=dict)


PLAIN = Circumstances("0")

OTHERS = {
    "other hashes, eager collector": Circumstances("1", before="import gc\ngc.set_threshold(1)"),
    "no collector, another time zone and locale": Circumstances(
        "2",
        before="import gc, time\ngc.disable()\ntime.tzset()",
        environment={"TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    ),
    "random hashes, other threads, modules and objects": Circumstances(
        "random",
        before="""
import asyncio, decimal, email.message, sqlite3, threading, time, unittest, uuid
import kazoo.client, kazoo.recipe.watchers
ballast = [object() for _ in range(12_345)]
def be_busy():
    while True:
        time.sleep(0.002)
        {str(number): uuid.uuid4() for number in range(10)}
for _ in range(2):
    threading.Thread(target=be_busy, daemon=True).start()
""",
    ),
}


def printed(circumstances: Circumstances, code: str, cwd: Path, *words: object) -> list[str]:
    """The words that the code prints, which runs in a new interpreter; ``words`` are its argv."""
    done = subprocess.run(
        [sys.executable, "-c", f"{circumstances.before}\n{code}", *map(str, words)],
        env={
            **os.environ,
            **circumstances.environment,
            "PYTHONHASHSEED": circumstances.hash_seed,
            "PYTHONPATH": str(ROOT),
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
