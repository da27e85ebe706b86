"""The cases in cases/: each still shows its failure, and no finding or mutant is without one."""

from pathlib import Path

import pytest

from docs.generators.findings_page import findings
from rumpus.campaigns.case import load_case
from rumpus.campaigns.mutant_cases import case_path
from rumpus.campaigns.replaying import ENDING, judge_replay, replay
from rumpus.campaigns.trial_task import perform
from rumpus.commands.mutants_command import chosen
from tests.sampling import sampled

CASES = Path(__file__).parents[3] / "cases"
FINDINGS = {finding.number: (case, finding) for _, case, finding in findings()}
MUTANTS = {
    **{case_path(CASES / "mutants", each): each for each in chosen(None)},
    **{case_path(CASES / "servers", each): each for each in chosen(None, servers=True)},
}


@sampled("number", FINDINGS, of=5)
def test_a_finding_is_shown_again(number):
    case, finding = FINDINGS[number]
    outcome = perform(case.task())
    told = judge_replay(str(number), case, outcome)
    assert told.reproduced is True, told
    broken = {seen.fingerprint.kind for seen in outcome.seen if seen.promised}
    assert broken >= set(finding.also)


def test_every_mutant_has_a_case_and_every_case_a_mutant():
    kept = {path for name in ("mutants", "servers") for path in (CASES / name).rglob(f"*{ENDING}")}
    assert kept == MUTANTS.keys(), "rumpus mutants [--servers] --cases cases/mutants|servers"


@sampled("path", MUTANTS, of=24, ids=lambda path: f"{path.parent.name}/{path.name[:-10]}")
def test_a_mutant_shows_its_mistake(path):
    mutant, case = MUTANTS[path], load_case(path)
    assert case.mutant
    assert case.expects.kind in mutant.expected
    told = replay(case)
    assert told.reproduced is True, told


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "mended").glob(f"*{ENDING}")))
def test_what_was_mended_stays_away(path):
    """A mistake of a recipe or of a check here, that explorations have found."""
    assert replay(load_case(path)).reproduced is False
