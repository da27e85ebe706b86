"""Documents of nights: whole ones by hand, and any that hypothesis makes up."""

import msgspec
from hypothesis import strategies as st

from rumpus.nights.documents.document import (
    CanaryResult,
    CaseResult,
    CommandResult,
    FailureResult,
    NightDocument,
)
from rumpus.nights.documents.summary import headed
from rumpus.nights.night_notes import code_of
from rumpus.nights.records import FailureRow, NightRow, RunRow, Trouble
from rumpus.results.fingerprint import Fingerprint
from tests.dangerous_strings import DANGEROUS
from tests.rumpus.nights.made import case_of_kind

VALID_RUN = RunRow(role="run", subject="lock / fair, sim", kind="usual", outcome="valid")


def row(kind="double-grant", recipe="fair", **more):
    return FailureRow(workload="lock", recipe=recipe, fingerprint=Fingerprint(kind=kind), **more)


def failed(state="new", kind="double-grant", **more):
    return FailureResult(failure=row(kind), state=state, **{"runs": 1, **more})


def document(*, troubles=(), interrupted=False, shard="", seed=0, runs=(VALID_RUN,), **more):
    night = NightRow(
        name="2026-11-26",
        began=5.0,
        troubles=tuple(Trouble(kind=kind, what=f"{kind} it") for kind in troubles),
        interrupted=interrupted,
        shard=shard,
        seed=seed,
    )
    return NightDocument(night=night, runs=tuple(runs), **more)


words = st.sampled_from(DANGEROUS) | st.text(st.characters(codec="utf-8"), max_size=20)
times = st.floats(0, 1e6)


def many_of(strategy):
    return st.lists(strategy, max_size=5).map(tuple)


rows = st.builds(
    FailureRow,
    workload=words,
    recipe=words,
    fingerprint=st.builds(Fingerprint, kind=words, operations=many_of(words)),
    case=st.none() | st.just(case_of_kind()),
)
documents = st.builds(
    NightDocument,
    night=st.builds(
        NightRow,
        name=words,
        began=times,
        seconds=times,
        budget=times,
        interrupted=st.booleans(),
        shard=st.sampled_from(["", "0/2"]),
        troubles=many_of(
            st.builds(Trouble, kind=st.sampled_from(["world", "unstable", "usage"]), what=words)
        ),
    ),
    failures=many_of(
        st.builds(
            FailureResult,
            failure=rows,
            state=st.sampled_from(["new", "known", "expected", "base"]),
            runs=st.integers(0, 9),
            owner=words,
            why=words,
            file=words,
        )
    ),
    cases=many_of(
        st.builds(
            CaseResult,
            name=words,
            state=st.sampled_from(
                ["shown", "mended", "regression", "stale", "undecided", "unperformed"]
            ),
            why=words,
            again=words,
            moved=words,
        )
    ),
    canaries=many_of(
        st.builds(
            CanaryResult,
            name=words,
            state=st.sampled_from(["found", "blind", "open", "unperformed"]),
            runs=st.integers(0, 9),
            rate=st.floats(0, 1),
            expected=many_of(words),
            why=words,
        )
    ),
    commands=many_of(
        st.builds(CommandResult, name=words, exit_code=st.integers(0, 2), seconds=times, said=words)
    ),
    runs=many_of(
        st.builds(
            RunRow,
            role=st.sampled_from(["run", "case", "canary", "again"]),
            subject=words,
            kind=st.sampled_from(["usual", "short"]),
            outcome=st.sampled_from([None, "valid", "violation", "unknown", "inconclusive"]),
            why=words,
            virtual_seconds=times,
        )
    ),
    waiting=many_of(words),
    cases_left=st.integers(0, 3),
    expired=many_of(words),
    gone=many_of(words),
    notes=many_of(words),
    idle=words,
)


def as_written(made):
    """A night that somebody made up, as one would be written: its parts agree."""
    runs = tuple(
        msgspec.structs.replace(
            run,
            exit_code=4 if run.outcome is None else code_of(run.outcome),
            why="" if run.outcome == "valid" else run.why,
        )
        for run in made.runs
    )
    night = msgspec.structs.replace(made.night, name="2026-11-26", ended=2.0)
    failures = tuple(msgspec.structs.replace(each, file="") for each in made.failures)
    cases = tuple(msgspec.structs.replace(each, moved="") for each in made.cases)
    return headed(
        msgspec.structs.replace(made, night=night, runs=runs, failures=failures, cases=cases)
    )
