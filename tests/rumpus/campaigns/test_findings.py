"""The laws by which failures are told apart, on generated ones."""

from hypothesis import given
from hypothesis import strategies as st

from rumpus.campaigns.case import Case
from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import Death, Failure, Findings, Found
from rumpus.campaigns.merging import merge, part_of
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
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
