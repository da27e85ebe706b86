"""The laws by which failures are told apart, on generated ones."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.case import Case
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import Death, Findings, Found
from rumpus.campaigns.looks import Failure
from rumpus.campaigns.merging import merge, part_of
from rumpus.campaigns.rulings import Ruling, Rulings
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.traits import Traits
from rumpus.runs.shard import Shard

FAULTS = ("kill", "pause", "partition")
ANOMALIES = ("deadlock", "double-grant")
KINDS = st.sets(st.sampled_from(FAULTS), min_size=1).map(lambda kinds: tuple(sorted(kinds)))


def made(failure, causes):
    """What shrinking makes of a failure: it needs the first of its causes that was there."""
    faults = next((each for each in causes if set(each) <= set(failure.kinds)), failure.kinds)
    expects = failure.fingerprint.after(faults)
    case = Case(settings={}, seed=failure.seed, plan=FaultPlan(version=1), expects=expects)
    return Found(case=case, failure=failure, operations=1)


def noted(failures, causes):
    findings = Findings()
    for failure in failures:
        kind = failure.fingerprint.kind
        findings.note(failure, lambda f=failure, k=kind: made(f, causes[k]))
    return findings


def merged(failures, causes, parts):
    """The findings of all, from parts that were noted one by one."""
    shards = [Shard(index, parts) for index in range(parts)]
    each = [
        Exploration(noted([f for f in failures if shard.has(f.seed)], causes)) for shard in shards
    ]
    pairs = list(zip(each, shards, strict=True))[::-1]
    return merge([part_of(e, shard, {}, interrupted=False) for e, shard in pairs]).findings


FAILURES = st.lists(
    st.builds(
        lambda seed, kind, kinds: Failure(
            seed=seed, fingerprint=Fingerprint(kind=kind), kinds=kinds
        ),
        st.integers(0, 20),
        st.sampled_from(ANOMALIES),
        KINDS,
    ),
    max_size=12,
    unique_by=lambda failure: (failure.seed, failure.fingerprint.kind),
).map(lambda failures: sorted(failures, key=lambda failure: failure.seed))


@given(FAILURES, st.fixed_dictionaries(dict.fromkeys(ANOMALIES, KINDS)), st.integers(1, 4))
def test_where_an_anomaly_has_one_cause_parts_find_what_the_whole_finds(failures, cause, parts):
    there = [f for f in failures if set(cause[f.fingerprint.kind]) <= set(f.kinds)]
    causes = {kind: [each] for kind, each in cause.items()}
    assert merged(there, causes, parts).found == noted(there, causes).found


@given(
    FAILURES,
    st.fixed_dictionaries({kind: st.lists(KINDS, max_size=4) for kind in ANOMALIES}),
    st.integers(1, 4),
)
def test_whatever_the_causes_no_failure_is_lost(failures, causes, parts):
    findings = merged(failures, causes, parts)
    assert findings.failures == failures
    assert sum(found.runs for found in findings.found) == len(failures)
    for failure in failures:
        assert any(found.explains(failure) for found in findings.found)


def test_deaths_are_told_apart_by_how_a_process_ended():
    findings = Findings()
    for seed, how in enumerate(("SIGSEGV", "exit status 3", "SIGSEGV")):
        findings.note_death(Death(seed=seed, how=how, argv=("rumpus",), clients=2))
    assert [(death.seed, death.how, death.runs) for death in findings.deaths] == [
        (0, "SIGSEGV", 2),
        (1, "exit status 3", 1),
    ]


def signs(kind, *, at="a.py:1 in f", call="", znode=""):
    """Signs of a failure at a line of the recipe."""
    name = at.partition(":")[0]
    return Traits(
        kind=kind,
        words=f"{kind} {name}",
        requests=(f"acquire: {name}",),
        places=(at,),
        standing=(f"one in acquire: {name}",),
        sessions=(name,),
        znodes=(name,),
        story=(name,),
        calls_of=(call,) if call else (),
        znodes_of=(znode,) if znode else (),
    )


def broken(seed, traits, *kinds):
    fingerprint = Fingerprint(kind=traits.kind)
    return Failure(seed=seed, fingerprint=fingerprint, kinds=kinds, traits=traits)


def found_of(*failures, rulings=None):
    """The looks of each that was found, and in how many runs."""
    findings = Findings(rulings=rulings)
    for failure in failures:
        findings.note(failure, lambda f=failure: kept(f))
    return [
        (found.runs, [str(look.fingerprint) for look in found.looks]) for found in findings.found
    ]


def kept(failure):
    """A case of its own for each failure."""
    expects = failure.fingerprint.after(failure.kinds)
    settings = {"workload": "lock"}
    case = Case(settings=settings, seed=failure.seed, plan=FaultPlan(version=1), expects=expects)
    return Found(case=case, failure=failure, operations=1)


def test_failures_at_the_same_lines_are_one_whatever_their_faults():
    one, other = signs("deadlock"), signs("deadlock", at="b.py:9 in g")
    assert found_of(broken(0, one, "kill"), broken(1, one, "pause"), broken(2, other, "kill")) == [
        (2, ["deadlock"]),
        (1, ["deadlock"]),
    ]


def test_what_the_same_call_shows_is_one_and_told_as_another_look():
    grant = signs("double-grant", at="b.py:9 in g", call="deadlock of ")
    found = found_of(broken(0, signs("deadlock")), broken(0, grant), broken(1, grant))
    assert found == [(3, ["deadlock", "double-grant"])]


def test_what_was_found_apart_becomes_one_once_two_runs_show_both():
    alone = signs("double-grant", at="b.py:9 in g")
    beside = signs("double-grant", at="b.py:9 in g", znode="deadlock of ")
    apart = [broken(0, signs("deadlock")), broken(1, alone)]
    once = [broken(2, signs("deadlock")), broken(2, beside)]
    again = [broken(3, signs("deadlock")), broken(3, beside)]
    assert len(found_of(*apart, *once)) == 2
    assert found_of(*apart, *once, *again) == [(6, ["deadlock", "double-grant"])]


def test_a_ruling_stands_above_what_failures_look_like():
    one, other = signs("deadlock"), signs("herd", at="b.py:9 in g")
    failures = [broken(0, one), broken(1, other)]
    merged = Rulings(one=(Ruling(cases=("deadlock", "herd"), why="one missing check"),))
    assert found_of(*failures, rulings=merged) == [(2, ["deadlock", "herd"])]
    alike = [broken(0, one), broken(0, signs("herd", call="deadlock of "))]
    split = Rulings(apart=(Ruling(cases=("deadlock", "herd"), why="two lines"),))
    assert len(found_of(*alike)) == 1
    assert len(found_of(*alike, rulings=split)) == 2


def test_parts_find_what_the_whole_finds_by_signs():
    lines = ("a.py:1 in f", "b.py:9 in g", "c.py:5 in h")
    failures = [broken(seed, signs("deadlock", at=lines[seed % 3]), "kill") for seed in range(9)]
    whole = Findings()
    for failure in failures:
        whole.note(failure, lambda f=failure: kept(f))
    shards = [Shard(index, 2) for index in range(2)]
    parts = []
    for shard in shards:
        findings = Findings()
        for failure in failures:
            if shard.has(failure.seed):
                findings.note(failure, lambda f=failure: kept(f))
        parts.append(part_of(Exploration(findings), shard, {}, interrupted=False))
    assert merge(parts).findings.found == whole.found
    assert [found.runs for found in whole.found] == [3, 3, 3]


def test_two_that_hang_at_different_lines_are_two_though_they_wait_for_one_znode():
    there = signs("deadlock", at="b.py:9 in g", znode="deadlock of acquire")
    enters = msgspec.structs.replace(
        broken(0, signs("deadlock")),
        fingerprint=Fingerprint(kind="deadlock", operations=("acquire",)),
    )
    assert len(found_of(enters, broken(0, there))) == 2
