"""A program makes clients itself: their sessions are its own, and what it holds ends with them."""

import rumpus
from tests.sampling import sampled
from tests.workloads.own import own_clients as programs

BUSY = {"seeds": 1, "clients": 3, "time_limit": 4.0, "session_timeout": 1.0}


def trial(family, recipe, runs, **options):
    return rumpus.run(family, recipe, runs=runs, **{**BUSY, "nemesis": ["client-pause"], **options})


def kinds(anomalies):
    return {anomaly.kind for anomaly in anomalies}


@sampled(
    ("family", "recipe"),
    [
        ("lock", programs.Program),
        ("lock", programs.ProgramInLine),
        ("lock", programs.ClientForEachCall),
        ("lock", programs.BothClients),
        ("election", programs.Decorated),
    ],
    of=2,
)
def test_a_program_with_clients_of_its_own_has_a_verdict(family, recipe, tmp_path):
    result = trial(family, recipe, tmp_path)
    assert result.outcome == "valid", str(result)
    text = " ".join(result.notes) + str(result)
    assert "double-grant" not in text.partition("Not judged")[2], text


@sampled(
    ("recipe", "anomaly"),
    [(programs.ShortSightedProgram, "split-brain"), (programs.StolenProgram, "split-brain")],
    of=1,
)
def test_a_mistake_of_such_a_program_is_found(recipe, anomaly, tmp_path):
    result = trial("lock", recipe, tmp_path, nemesis=[], time_limit=3.0)
    assert result.outcome == "violation", str(result)
    assert anomaly in kinds(result.anomalies)
