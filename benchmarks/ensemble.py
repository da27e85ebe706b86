"""How long an ensemble of three takes from the call until every node serves, and to be removed.

The image exists already.

``python -m benchmarks.ensemble [--quick]``
"""

import secrets
import time

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import ensure_node_image

START_S = 10
TEAR_DOWN_S = 5


def up_and_down() -> tuple[float, float]:
    """Seconds to start, and seconds to tear down."""
    ensemble = DockerEnsemble(f"bench-{secrets.token_hex(3)}")
    try:
        began = time.perf_counter()
        ensemble.start()
        started = time.perf_counter() - began
    finally:
        began = time.perf_counter()
        ensemble.tear_down()
        torn_down = time.perf_counter() - began
    return started, torn_down


def measure(scale: Scale) -> Table:
    client = connect()
    ensure_node_image(client, lambda _: None)
    client.close()
    rounds = [up_and_down() for _ in range(scale.rounds(5))]
    table = Table(title="An ensemble of three")
    for heading in ("", "best s", "worst s", "target s"):
        table.add_column(heading, justify="right")
    for name, seconds, target in (
        ("start", [started for started, _ in rounds], START_S),
        ("tear-down", [torn_down for _, torn_down in rounds], TEAR_DOWN_S),
    ):
        table.add_row(name, f"{min(seconds):.1f}", f"{max(seconds):.1f}", f"{target}")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
