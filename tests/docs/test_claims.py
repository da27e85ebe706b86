"""docs/track-record/claims.md: its commands are commands, and its table is what they measure."""

import os
import shlex
from pathlib import Path

import pytest

from docs.generators import claims
from docs.generators.claims import CLAIMS, CONFIRMED, REFUTED, SOURCES
from docs.generators.claims_page import measure, rows, with_table
from rumpus.command_line import make_parser
from rumpus.workloads.registry import find_workload

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "track-record" / "claims.md").read_text(encoding="utf-8")
COMMANDS = sorted({command for claim in CLAIMS for command in claim.commands})


def in_the_page(claim):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {claim.words} |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_can_be_typed_and_is_decided_by_its_seed(command):
    words = shlex.split(command)
    arguments = make_parser(words).parse_args(words)
    assert arguments.recipe in {None, *find_workload(arguments.workload).recipes}
    assert arguments.ensemble == "sim"
    assert arguments.seed is not None


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.words[:40])
def test_the_page_has_each_claim_with_source_commands_and_verdict(claim):
    _, source, commands, measured, verdict = in_the_page(claim)
    assert source == claim.source
    assert f"- **{source}**: {SOURCES[source]}" in PAGE
    assert commands == "<br>".join(f"`rumpus {command}`" for command in claim.commands)
    assert measured
    assert verdict in {f"**{word}**. {claim.note}".strip() for word in (CONFIRMED, REFUTED)}


def test_the_page_has_no_other_claims():
    table = PAGE.split("<!-- claims -->")[1].split("<!-- /claims -->")[0]
    claimed = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(claimed) == len(CLAIMS) + 1


def run_with(anomalies=(), check="", stats=None, kills=0):
    counts = [{"kind": kind, "count": count} for kind, count in dict(anomalies).items()]
    faults = [{"kind": "kill", "count": kills}]
    return {
        "anomalies": counts,
        "checks": [{"name": check, "stats": stats or {}}],
        "faults": faults,
    }


@pytest.mark.parametrize(
    ("read", "runs", "holds"),
    [
        (claims._twice, [run_with(), run_with()], True),
        (claims._twice, [run_with({"stale-belief": 1}), run_with()], False),
        (claims._stale_reads, [run_with({"not-linearizable": 1}), run_with()], True),
        (claims._stale_reads, [run_with(), run_with()], False),
        (claims._stale_reads, [run_with({"not-linearizable": 1})] * 2, False),
        (claims._late, [run_with({"stale-action": 2}), run_with()], True),
        (claims._late, [run_with({"stale-action": 2})] * 2, False),
        (claims._delay, [run_with({"stale-action": 2}), run_with(), run_with()], True),
        (
            claims._delay,
            [run_with({"stale-action": 2}), *[run_with({"stale-action": 1})] * 2],
            False,
        ),
        (claims._delay, [run_with()] * 3, False),
        (claims._fence, [run_with({"stale-action": 2}), run_with({"fenced": 2})], True),
        (claims._fence, [run_with({"stale-action": 2}), run_with()], False),
        (claims._restart, [run_with((), "exercise", {"sessions that expired": 0}, 5)], False),
        (claims._restart, [run_with((), "exercise", {"sessions that expired": 1}, 5)], True),
        (claims._dies, [run_with((), "exercise", {"sessions that expired": 1})], True),
        (
            claims._dies,
            [run_with({"early-removal": 1}, "exercise", {"sessions that expired": 1})],
            False,
        ),
        (claims._watches, [run_with((), "missed changes", {"waits": 9})], True),
        (claims._watches, [run_with({"late-event": 1}, "missed changes", {"waits": 9})], False),
        (claims._watches, [run_with((), "missed changes", {"waits": 0})], False),
    ],
)
def test_each_claim_can_be_refuted(read, runs, holds):
    assert read(runs)[1] is holds


def measured(woken=1.0, jain=1.0, after=None, median=1.0, events=10, per_grant=10.0, unfair=0):
    handovers = [{"after": key, "median": value} for key, value in (after or {}).items()]
    return {
        "anomalies": [{"kind": "unfair-grant", "count": unfair}],
        "checks": [{"name": "order", "stats": {"judged": 9}}],
        "by_function": [{"name": "acquire", "median": median}],
        "measures": {
            "wakeups": {"per_release": woken},
            "spread": {"least": 1, "most": 2, "jain": jain, "grants": 3},
            "handovers": handovers,
            "messages": {"total": 100, "per_grant": per_grant, "watch_events": events},
        },
    }


@pytest.mark.parametrize(
    ("read", "runs", "holds"),
    [
        (claims._one_wakes, [measured(woken=1.0), measured(woken=1.2)], True),
        (claims._one_wakes, [measured(woken=1.0), measured(woken=9.0)], False),
        (claims._all_wake, [measured(woken=share) for share in (1, 8.5, 44)], True),
        (claims._all_wake, [measured(woken=share) for share in (1, 8.5, 4)], False),
        (claims._spread, [measured(jain=0.999), measured(jain=0.7)], True),
        (claims._spread, [measured(jain=0.999), measured(jain=0.999)], False),
        (claims._spread, [measured(jain=0.999, unfair=1), measured(jain=0.7)], False),
        (claims._waits, [measured(after={"release": 1}, median=m) for m in (9, 3)], True),
        (claims._waits, [measured(after={"release": 1}, median=m) for m in (3, 9)], False),
        (claims._squared, [measured(events=n) for n in (9, 36, 121, 3, 6, 11)], True),
        (claims._squared, [measured(events=n) for n in (9, 18, 33, 3, 6, 11)], False),
        (claims._expiry, [measured(after={"death": d, "release": 1}) for d in (2200, 4300)], True),
        (claims._expiry, [measured(after={"death": d, "release": 1}) for d in (200, 4300)], False),
        (claims._identity, [measured(after={"death": 300})], True),
        (claims._identity, [measured(after={"death": 2300})], False),
    ],
)
def test_each_measure_can_refute_its_claim(read, runs, holds):
    assert read(runs)[1] is holds


def test_no_claim_rests_on_a_run_that_is_not_valid():
    with pytest.raises(RuntimeError, match="violation, so no claim can rest on it"):
        measure("run lock --recipe no-recheck --clients 5 --time-limit 12 --ensemble sim --seed 1")


def test_a_command_of_several_claims_is_run_once_and_the_rest_of_the_page_stays():
    runs = []

    def run(command):
        runs.append(command)
        return measured(after={"release": 1})

    same = [claim for claim in CLAIMS if claim.read in (claims._spread, claims._waits)]
    before = "# Before\n<!-- claims -->\nof yesterday\n<!-- /claims -->\nafter\n"
    page = with_table(before, rows(same, run))
    assert sorted(runs) == sorted(same[0].commands)
    assert page.startswith("# Before\n")
    assert page.endswith("after\n")
    assert "of yesterday" not in page


@pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs the claims")
@pytest.mark.timeout(3600)
def test_the_table_is_what_the_commands_measure():
    assert with_table(PAGE, rows(CLAIMS, measure)) == PAGE, (
        "python -m docs.generators.claims_page docs/track-record/claims.md"
    )
