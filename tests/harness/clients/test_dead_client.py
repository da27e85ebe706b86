"""A client whose kazoo has ended its connection for good is opened anew, and that is told."""

import rumpus
from rumpus.results.history_file import read_history


def test_a_client_that_would_never_be_connected_again_is_opened_anew(tmp_path):
    found = rumpus.run(
        "lock",
        recipe="kazoo-bare",
        ensemble="sim",
        nodes=1,
        clients=1,
        nemesis=[],
        usage="auths=1",
        seed=1,
        time_limit=3,
        runs=tmp_path,
        keep=True,
    )
    assert "dead-client" in {hazard.kind for hazard in found.hazards}
    history = read_history(found.runs[0].directory / "history.jsonl")
    died = [op for op in history.events("session", "lost") if op.value.get("dead")]
    opened = {op.value["process"] for op in history.events("session", "connected")}
    assert died
    assert all(any(process > op.value["process"] for process in opened) for op in died[:-1])
    assert len(history) < 5000
