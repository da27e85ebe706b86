"""The histories that others recorded, with both twins, where they are at hand."""

from pathlib import Path

import pytest

from rumpus.checker.deciders.decide import decide
from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.append import AppendRegister
from rumpus.checker.models.register import CasRegister
from rumpus.results.formats.history_formats import read_table
from tests.checker.linearizability.backends import both

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "histories"
pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the histories are not at hand")


@both
def test_etcd(backend):
    known = [
        line.split("\t")
        for line in (GOLDEN / "porcupine-etcd" / "VERDICTS.tsv").read_text().splitlines()
    ]
    assert len(known) == len(list((GOLDEN / "porcupine-etcd").glob("*.log")))
    model = CasRegister()
    for name, verdict in known:
        history = read_table(GOLDEN / "porcupine-etcd" / name, "porcupine-etcd")
        explain = backend == "c"  # minimal witnesses of all take plain Python a second
        decision = check_linearizable(model, history, Budget(), backend=backend, explain=explain)
        assert decision.valid is (verdict == "linearizable"), name
        assert decision.valid or decision.witness.minimal is explain


@both
def test_key_value_logs(backend):
    for verdict in ("ok", "bad"):
        history = read_table(GOLDEN / "porcupine-kv" / f"c10-{verdict}.txt", "porcupine-kv")
        decision = check_linearizable(
            AppendRegister(), history, Budget(), backend=backend, explain=False
        )
        assert decision.valid is (verdict == "ok")


@pytest.mark.parametrize("name", ["c10-ok", "c10-bad", "c50-bad"])
def test_key_value_logs_by_the_model_append(name):
    history = read_table(GOLDEN / "porcupine-kv" / f"{name}.txt", "porcupine-kv")
    decision = decide(MODELS["append"], history)
    assert decision.valid is name.endswith("ok")
    assert decision.valid or decision.witness.minimal
