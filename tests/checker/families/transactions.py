"""Histories of one transaction, told operation by operation."""

from tests.checker.recorded import Recorded


class Transactions(Recorded):
    """One transaction ``t`` of c0, on which c0 and c1 vote."""

    def operation(self, ms, process, outcome, f, value, answer=None):
        self.add(ms, process, "invoke", f, value)
        return self.add(ms + 5, process, outcome, f, answer if answer is not None else value)

    def begun(self, site="c0"):
        value = {
            "key": "t",
            "participants": ["c0", "c1"],
            "coordinator": "c0",
            "site": site,
            "writes": None,
        }
        return self.operation(0, 0, "ok", "begin", value)

    def vote(self, ms, process, ballot="yes", outcome="ok"):
        return self.operation(ms, process, outcome, "vote", {"key": "t", "value": ballot})

    def decide(self, ms, process, decision):
        return self.operation(ms, process, "ok", "decide", {"key": "t"}, told(decision))

    def outcomes(self, ms, process, outcomes, blocked=()):
        answer = {"outcomes": outcomes, "blocked": list(blocked)}
        return self.operation(ms, process, "ok", "outcomes", {"patience": 1}, answer)

    def final(self, ms, *, healed=True):
        return self.add(ms, "control", "info", "phase", {"phase": "final", "healed": healed})


def told(decision):
    return {"key": "t", "value": decision}
