"""The file in which persons say which failures are one."""

import pytest

from rumpus.campaigns.rulings import load_rulings
from rumpus.usage_error import UsageError

FILE = """
[[one]]
cases = ["lock-a", "deadlock of acquire after kill"]
why = "both come of the same missing check"

[[apart]]
cases = ["queue-a", "3f2a90c1d4", "queue-c"]
why = "they look alike, and are at different lines"
"""


@pytest.fixture
def rulings(tmp_path):
    file = tmp_path / "failure-rulings.toml"
    file.write_text(FILE)
    return load_rulings(file)


def test_failures_are_named_by_case_fingerprint_or_identifier(rulings):
    fingerprint = ("deadlock of acquire after kill",)
    assert rulings.merges(("0123456789", "lock-a"), fingerprint).startswith("both come of")
    assert rulings.splits(("queue-a",), ("3f2a90c1d4", "herd")).startswith("they look alike")


def test_what_no_ruling_names_together_is_left_alone(rulings):
    assert not rulings.merges(("lock-a",), ("queue-a",))
    assert not rulings.splits(("lock-a",), ("queue-a",))
    assert not rulings.splits(("queue-a", "queue-c"), ("queue-a",)), "it is the same failure"


@pytest.mark.parametrize("text", ["[[one]\n", "[[two]]\n", "[[one]]\ncases = ['a']\n"])
def test_a_malformed_file_is_refused_by_its_name(tmp_path, text):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"--rulings .*bad\.toml: .*\[\[one\]\] and \[\[apart\]\]"):
        load_rulings(file)
