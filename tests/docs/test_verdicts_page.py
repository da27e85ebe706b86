"""The two runs on the page about verdicts show what it says they show."""

import re
from pathlib import Path

from docs.generators.claims_page import perform

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "explanation" / "verdicts.md").read_text(encoding="utf-8")


def test_the_fence_refuses_what_the_lock_cannot_prevent():
    without, fenced = (
        perform(words) for words in re.findall(r"^\$ rumpus (.*)$", PAGE, re.MULTILINE)
    )
    assert without["outcome"] == fenced["outcome"] == "valid"
    assert {each["kind"] for each in without["anomalies"]} == {"stale-belief", "stale-action"}
    assert {each["kind"] for each in fenced["anomalies"]} == {"stale-belief", "fenced"}
