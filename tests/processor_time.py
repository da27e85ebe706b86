"""What a run of the tests costs: processor time in all, and the files that took most of it.

It is printed and never asserted: a busy machine must not fail a test. Whoever sees the sum near the
budget takes time out of what costs most (tests/sampling.py), before there is more. What servers in
containers take is not known: a test that has some is taken to cost half of the time that it takes.
"""

import json
import os
import resource
from collections import Counter

import pytest

from tests.sampling import COSTS, TIERS, costs

BUDGET = 14.0
"""Minutes of processor time that all of ``make test`` may take: 8 minutes of two cores."""


def used():
    """Seconds of processor time of this process and of all its children that have ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


class ProcessorTime:
    """Each report of a test carries what was used since the one before; the sums are printed."""

    def __init__(self):
        self._last = used()
        self._by_test = Counter()
        self._costs = Counter()

    def pytest_runtestloop(self):
        self._last = used()  # what was collected belongs to no test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = used()
        report.processor, self._last = now - self._last, now
        return report

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.partition("[")[0]
        self._by_test[name] += report.processor
        on_servers = report.when == "call" and "docker" in report.keywords
        self._costs[name] += max(report.processor, report.duration / 2 if on_servers else 0)

    def pytest_terminal_summary(self, terminalreporter):
        if not self._by_test:
            return
        if os.environ.get("RUMPUS_WRITE_COSTS"):
            self._write_costs()
        by_file = Counter()
        for name, seconds in self._by_test.items():
            by_file[name.partition("::")[0]] += seconds
        most = [f"{file} {seconds:.0f} s" for file, seconds in by_file.most_common(12)]
        terminalreporter.write_line(
            f"processor time: {used() / 60:.1f} minutes, without servers in Docker"
            f" (budget of the whole suite: {BUDGET:.0f}); most of it: {', '.join(most)}"
        )

    def _write_costs(self):
        """Replace the costs of what has run; what has not keeps its own."""
        found = {**costs(), **{name: round(each, 1) for name, each in self._costs.items()}}
        dear = {name: each for name, each in sorted(found.items()) if each >= TIERS[-1][0]}
        COSTS.write_text(json.dumps(dear, indent=1) + "\n")
