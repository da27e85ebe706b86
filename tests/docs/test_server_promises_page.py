"""The table of ZooKeeper's promises has every mutant server, and hides no gap."""

from docs.generators.server_promises_page import checks_of, server_promises_page
from rumpus.checker.check import all_kinds
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS, TOPICS

PAGE = server_promises_page()
ROWS = {line.rsplit("`", 2)[1]: line for line in PAGE.splitlines() if line.endswith("` |")}


def test_every_mutant_has_one_row_and_one_topic():
    assert ROWS.keys() == SERVER_MUTANTS.keys()
    topical = [each.name for mutants in TOPICS.values() for each in mutants]
    assert sorted(topical) == sorted(each.name for each in SERVER_MUTANTS.values() if not each.bugs)


def test_a_row_has_the_anomalies_with_the_checks_that_find_them_or_the_gap():
    finders = checks_of()
    assert finders.keys() == all_kinds().keys()
    for mutant in SERVER_MUTANTS.values():
        row = ROWS[mutant.name]
        assert ("**gap**" in row) == bool(mutant.gap)
        assert mutant.gap in row
        for kind in mutant.expected:
            assert f"[`{kind}`](anomalies/{kind}.md)" in row
            assert all(check in row for check in finders[kind])
