"""A guard: a process that removes a run's containers when the process that owns them has ended.

However that ends: nobody can handle SIGKILL, and pytest does not handle SIGTERM. A run of
``rumpus`` ends in order on a signal, so it needs none; servers that a test holds do. The guard
waits without importing anything, and ends when it is no longer needed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.leftovers import is_left, remove_run
from rumpus.harness.ensemble import EnvironmentRefusal

LOOKS = 6
"""How often a guard looks: the engine may still be making what it was last asked for."""
LOOK_S = 1.0
"""Seconds from one look to the next."""

_kept: list[subprocess.Popen[bytes]] = []
"""Guards that wait for the end of this process."""

_MAIN = """
import json, select, signal, sys
for number in signal.SIGINT, signal.SIGHUP, signal.SIGTERM:
    signal.signal(number, signal.SIG_IGN)
select.select([int(sys.argv[1])], [], [])
sys.path[:] = json.loads(sys.argv[3])
from rumpus.harness.docker.guard import main
main(sys.argv[2])
"""


@contextmanager
def guarded(run_id: str) -> Iterator[None]:
    """Have a run's containers and networks removed if this process ends while the block runs.

    They are, too, when this process ends, if the block has not removed them as an error ended it.

    Raises:
        EnvironmentRefusal: no process can be started, or the kernel is older than Linux 5.3.
    """
    try:
        this = os.pidfd_open(os.getpid())
        try:
            words = [str(this), run_id, json.dumps(sys.path)]
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _MAIN, *words],
                pass_fds=[this],
                # It must not keep a pipe of the owner open, a directory, or the owner's terminal.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(this)
    except OSError as error:
        raise EnvironmentRefusal(
            f"a process that removes the containers in the end cannot be started: {error}"
        ) from error
    try:
        yield
    except BaseException:
        if _is_left(run_id):
            _kept.append(guard)
        else:
            _dismiss(guard)
        raise
    _dismiss(guard)


def _dismiss(guard: subprocess.Popen[bytes]) -> None:
    guard.send_signal(signal.SIGKILL)
    guard.wait()


def _is_left(run_id: str) -> bool:
    """Whether something of a run is there still: Ctrl-C may cut the removal short."""
    try:
        with closing(connect()) as client, refusals("looking for what is left"):
            return is_left(client, run_id)
    except EnvironmentRefusal:
        return True


def main(run_id: str) -> None:
    """Remove what there is of a run, and what still comes within some seconds.

    Raises:
        EnvironmentRefusal: no engine answers any more.
        docker.errors.APIError: the engine could not remove something; ``rumpus clean`` tries again.
    """
    with closing(connect()) as client:
        for look in range(LOOKS):
            if look:
                time.sleep(LOOK_S)
            remove_run(client, run_id)
