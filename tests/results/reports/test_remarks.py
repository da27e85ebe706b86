"""What a verdict leaves out is told with it in every output."""

from rumpus.checker.verdict import CheckResult, judge
from rumpus.results.wording import headline, remarks
from tests.checker.recorded import Recorded


def test_what_a_check_could_not_look_at_is_told_with_a_valid_verdict():
    checks = [CheckResult(name="grants", unjudged=["who owned it"]), CheckResult(name="other")]
    verdict = judge(checks, {"double-grant"})
    assert headline(verdict) == "Valid: every promise of the recipe was kept; 1 not judged"
    assert remarks(verdict, Recorded().history()) == ["Not judged: who owned it"]
