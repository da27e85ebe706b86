"""For every kind of anomaly a history by hand in which it is found, and nothing else.

Each has a twin that differs in what went wrong only, and in which nothing is found. Kinds that
other tests of the checkers name are theirs.
"""

import re
from pathlib import Path

import pytest

from rumpus.checker.check import all_kinds
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.exclusion.answers import check_answers
from rumpus.checker.exclusion.fence import check_fence
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.partitions import check_ownership, check_sizes, members_at_once
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.exclusion.stability import check_stability
from rumpus.checker.families.commitments import (
    Decided,
    Standing,
    check_commitments,
    check_ends,
    check_votes,
    decisions_in_logs,
    votes_in_logs,
)
from rumpus.checker.families.convergence import check_convergence
from rumpus.checker.families.growing_numbers import check_growth
from rumpus.checker.families.job_effects import check_job_effects, effect_makers
from rumpus.checker.families.presence import check_discovery, check_lists, check_presence
from rumpus.checker.families.queue_accounting import accounts, judge_elements
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.ownership import Ownership, ServerView, SessionEnd
from rumpus.checker.timeline.timeline import Place
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded

WORDS = Words(acquire="acquire", work="work", release="release", thing="lock")
CLOCK = WallClock([(0, 0)])
ROOT = Path(__file__).parents[2]


class Truth:
    """What the servers' logs say of some znodes."""

    reasons = uncertain = forked = ()

    def __init__(self, *lives):
        self._lives = lives

    def znodes(self, _path):
        return iter(self._lives)

    def contested(self):
        return frozenset()


def op(recorded, start, process, f, value=None, result=None, *, outcome="ok", lasts=1):
    """An operation that lasts a millisecond, or so many."""
    recorded.add(start, process, "invoke", f, value)
    return recorded.add(start + lasts, process, outcome, f, result)


def final(recorded, at):
    return recorded.add(at, "control", "info", "phase", {"phase": "final", "healed": True})


def ended(recorded):
    return recorded.add(90_000, "control", "info", "phase-end", {"phase": "final"}).end(99_000)


def grants_after_a_failure(*, wrong):
    recorded = Recorded(2).acquire(0, 10, 0, node="/l/n-0000000001", token=1)
    granted = 3_000 if wrong else 7_000
    recorded.acquire(20, granted, 1, node="/l/n-0000000002", token=2)
    failed = ZnodeLife("/l/n-0000000001", 1, 5, "0x1", "0x1", None, 9, 1_000, "0x1", "expired")
    history = ended(recorded).history()
    return check_lock_delay(
        laid_out(
            history,
            lock_delay=5,
            holds=extract_holds(history, WORDS),
            truth=Truth(failed),
            clock=CLOCK,
            path="/l",
        )
    )


def handovers_in_the_end(*, wrong):
    wait = 6_000 if wrong else 10
    recorded = final(Recorded(3), 5)
    for process in range(3):
        recorded.add(10 + process, process, "invoke", "acquire")
    for process in range(3):
        at = 100 + process * (wait + 200)
        grant = {"session": f"0x{process}", "node": f"/l/n-000000000{process}", "token": process}
        recorded.add(at, process, "ok", "acquire", grant)
        op(recorded, at + 200, process, "release")
    history = ended(recorded).history()
    return check_lock_delay(
        laid_out(
            history,
            lock_delay=5,
            holds=extract_holds(history, WORDS),
            truth=Truth(),
            clock=CLOCK,
            path="/l",
        )
    )


def verified(*, released, valid, **more):
    recorded = Recorded(2).acquire(0, 10, 0, node="/l/n-0000000001", token=1, sequencer="s1")
    recorded.release(20 if released else 80, 30 if released else 90, 0)
    op(recorded, 50, 1, "verify", {"sequencer": "s1", **more}, {"valid": valid})
    history = ended(recorded).history()
    return check_sequencers(
        laid_out(
            history,
            holds=extract_holds(history, WORDS),
            words=WORDS,
            truth=None,
            clock=None,
            path="/l",
        )
    )


def answered(*, ended_ms=None, entered=False, released=None, gone_ms=None):
    """A holder that enters again, or releases; its session, or its node alone, ends at a time."""
    recorded = Recorded().acquire(0, 10, 0, node="/l/n-0000000001", token=1)
    if entered:
        recorded.acquire(140, 150, 0, node="/l/n-0000000001", token=1)
    if released:
        recorded.add(60, 0, "invoke", "release").add(70, 0, released, "release")
    end = None if gone_ms is None else gone_ms * 1_000_000
    node = Ownership("/l/n-0000000001", "0x1", 1, 5_000_000, 1, end, gone_ms, deleted=True)
    ends = {} if ended_ms is None else {"0x1": SessionEnd(ended_ms * 1_000_000, expired=True)}
    view = ServerView(known=frozenset({"0x1"}), owners=[node], ends=ends)
    history = ended(recorded).history()
    return check_answers(
        laid_out(history, holds=extract_holds(history, WORDS), words=WORDS, servers=view, faults=[])
    )


def refused_by_the_fence(*, wrong):
    recorded = Recorded(2).acquire(0, 10, 0, token=1).release(20, 30, 0)
    if not wrong:
        recorded.acquire(40, 50, 1, token=2).release(52, 54, 1)
    op(recorded, 60, 0, "work", None, {"writes": [], "refused": 1})
    history = ended(recorded).history()
    return check_fence(
        laid_out(
            history,
            words=Words(work="work"),
            path="/data",
            line=Place("single", "/l"),
            holds=extract_holds(history, WORDS),
            truth=None,
        ),
        beside="",
    )


def counted(*, wrong):
    recorded = Recorded(1)
    op(recorded, 0, 0, "add", 2)
    op(recorded, 5, 0, "read", None, 3 if wrong else 2)
    return check_model(laid_out(ended(recorded).history()), MODELS["counter"], "miscount")


def registered(*, wrong):
    recorded = Recorded(2)
    op(recorded, 0, 0, "write", 1)
    op(recorded, 5, 0, "write", 2)
    op(recorded, 10, 1, "read", None, 1 if wrong else 2)
    return check_model(laid_out(ended(recorded).history()), MODELS["register"], "not-linearizable")


def numbered(*, wrong):
    recorded = Recorded(2)
    op(recorded, 0, 0, "generate", None, 1)
    op(recorded, 0.5, 1, "generate", None, 1 if wrong else 2)
    return check_model(
        laid_out(ended(recorded).history()), MODELS["unique-ids"], "duplicate-sequence"
    )


def growing(*, wrong):
    recorded = Recorded(2)
    op(recorded, 0, 0, "generate", None, 2)
    op(recorded, 5, 1, "generate", None, 1 if wrong else 3)
    return check_growth(laid_out(ended(recorded).history()), f="generate")


def committed(second="commit", vote="yes", voted_at=10, on_servers=None):
    """c0 coordinates, c0 and c1 vote, and both learn the decision."""
    recorded = Recorded(2)
    begin = {"key": "t", "participants": ["c0", "c1"], "coordinator": "c0", "site": "c0"}
    op(recorded, 0, 0, "begin", begin)
    op(recorded, 5, 0, "vote", {"key": "t", "value": "yes"})
    recorded.add(voted_at, 1, "invoke", "vote", {"key": "t", "value": vote})
    recorded.add(voted_at + 1, 1, "ok", "vote", {"key": "t", "value": vote})
    op(recorded, 20, 0, "decide", {"key": "t"}, {"key": "t", "value": "commit"})
    op(recorded, 60, 1, "decide", {"key": "t"}, {"key": "t", "value": second})
    return check_commitments(
        laid_out(ended(recorded).history(), parts=[(decisions_in_logs, on_servers)])
    )


def voted(standing, by):
    recorded = op(Recorded(1), 0, 0, "vote", {"key": "t", "value": "yes"})
    return check_votes(
        laid_out(
            ended(recorded).history(),
            parts=[(votes_in_logs, {("t", "c0"): Standing(standing, by)})],
        )
    )


def outcomes_told(*, blocked=(), known=True):
    recorded = Recorded(1)
    op(recorded, 0, 0, "begin", {"key": "t", "participants": ["c0"]})
    final(recorded, 10)
    told = {"outcomes": {"t": "abort"} if known else {}, "blocked": list(blocked)}
    op(recorded, 20, 0, "outcomes", None, told)
    return check_ends(laid_out(ended(recorded).history()))


def listed(*, wrong):
    recorded = Recorded(1)
    addresses = ["a", "b", "a"] if wrong else ["a", "b"]
    op(recorded, 0, 0, "look", None, {"addresses": addresses})
    return check_lists(laid_out(ended(recorded).history()))


def discovered(*addresses, gone_ms=None, registered=None):
    """``a`` has an entry from 1 s on; who is there is asked at 5 s."""
    entry = ZnodeLife("/r/e-1", 7, 1_000, "0x1", "0x1", b"a")
    if gone_ms is not None:
        entry = ZnodeLife("/r/e-1", 7, 1_000, "0x1", "0x1", b"a", 9, gone_ms, "0x1", "expired")
    recorded = Recorded(1)
    if registered:
        op(recorded, 4_000, 0, "register", {"address": registered}, {"address": registered})
    op(recorded, 5_000, 0, "discover", None, {"addresses": list(addresses), "settled": True})
    return check_discovery(
        laid_out(ended(recorded).history(), truth=Truth(entry), clock=CLOCK, path="/r")
    )


def discovered_twice(*, second_by):
    lives = (
        ZnodeLife("/r/e-1", 7, 1_000, "0x1", "0x1", b"a"),
        ZnodeLife("/r/e-2", 8, 1_100, second_by, second_by, b"a"),
    )
    recorded = Recorded(1)
    op(recorded, 5_000, 0, "discover", None, {"addresses": ["a", "a"], "settled": True})
    return check_discovery(
        laid_out(ended(recorded).history(), truth=Truth(*lives), clock=CLOCK, path="/r")
    )


def gathered(found, seen):
    """c0 is registered as ``a`` and c1 has left; c0 lists who is there."""
    recorded = final(Recorded(2), 0)
    op(recorded, 10, 0, "register", {"address": "a"}, {"address": "a"})
    op(recorded, 10, 1, "deregister", {"address": "b"}, {"address": "b"})
    for client in range(2):
        op(recorded, 20, client, "gather", None, {"discovered": found, "seen": seen})
    return check_presence(laid_out(ended(recorded).history()))


def converged(*, wrong):
    recorded = final(Recorded(1), 0)
    seen = {"n": 1} if wrong else {"n": 2}
    op(recorded, 10, 0, "converge", None, {"seen": seen, "there": {"n": 2}})
    return check_convergence(laid_out(ended(recorded).history()))


def owned(*parts):
    recorded = final(Recorded(len(parts)), 0)
    for client, own in enumerate(parts):
        op(recorded, 10, client, "own", None, {"parts": own})
    return check_ownership(laid_out(ended(recorded).history()), parts=["p", "q"])


def dealt(*parts):
    """One share of a set of two, with at most two members."""
    recorded = op(Recorded(1), 0, 0, "acquire", None, {"parts": dict.fromkeys(parts)})
    parts = [(members_at_once, lambda _begun, _ended: 2)]
    return check_sizes(laid_out(ended(recorded).history(), parts=parts), parts=["p", "q"])


def shared_out(*, completed):
    """A share that a member completes, who has joined at 100 ms."""
    recorded = Recorded(1).add(5, 0, "invoke", "acquire")
    recorded.add(completed, 0, "ok", "acquire", {"session": "0x1", "parts": {}})
    joined = ZnodeLife("/g/members/m", 1, 100, "0x1", "0x1", None)
    return check_stability(
        laid_out(
            ended(recorded).history(),
            time_boundary=0.3,
            truth=Truth(joined),
            clock=CLOCK,
            line=Place("sequential", "/g/locks"),
            path="/g",
        )
    )


def jobs(*, effects=None, told=("j",), untold=(), makers=None, known=True):
    recorded = Recorded(2)
    op(recorded, 0, 0, "submit", {"key": "j"})
    op(recorded, 5, 1, "ask", {"key": "j"}, {"key": "j", "known": known})
    final(recorded, 10)
    op(recorded, 20, 0, "collect", None, {"told": list(told), "untold": list(untold)})
    effects = {"j": 1} if effects is None else effects
    op(recorded, 30, 0, "audit", None, {"effects": effects, "left": []})
    return check_job_effects(laid_out(ended(recorded).history(), parts=[(effect_makers, makers)]))


def queued(*, put):
    recorded = Recorded(1)
    if put:
        op(recorded, 0, 0, "enqueue", {"value": "x"}, outcome=put)
    op(recorded, 10, 0, "dequeue", None, {"value": "x"})
    history = ended(recorded).history()
    return judge_elements(history, accounts(history), claimed=False, left=None)


CASES = {
    "early-grant": (
        lambda: grants_after_a_failure(wrong=True),
        lambda: grants_after_a_failure(wrong=False),
    ),
    "stuck-waiter": (
        lambda: handovers_in_the_end(wrong=True),
        lambda: handovers_in_the_end(wrong=False),
    ),
    "stale-sequencer": (
        lambda: verified(released=True, valid=True),
        lambda: verified(released=False, valid=True),
    ),
    "false-release": (
        lambda: answered(released="fail", gone_ms=65),
        lambda: answered(released="ok", gone_ms=65),
    ),
    "false-release, that leaves it": (
        lambda: answered(released="ok"),
        lambda: answered(released="ok", gone_ms=65),
    ),
    "unheld-release": (
        lambda: answered(released="ok", gone_ms=30, ended_ms=30),
        lambda: answered(released="fail", gone_ms=30, ended_ms=30),
    ),
    "false-reentry": (
        lambda: answered(entered=True, ended_ms=30, gone_ms=30),
        lambda: answered(entered=True),
    ),
    "refused-sequencer": (
        lambda: verified(released=False, valid=False),
        lambda: verified(released=True, valid=False),
    ),
    "stale-sequencer, of another lock": (
        lambda: verified(released=False, valid=True, by="elsewhere"),
        lambda: verified(released=False, valid=False, by="elsewhere"),
    ),
    "refused-sequencer, by the fence": (
        lambda: refused_by_the_fence(wrong=True),
        lambda: refused_by_the_fence(wrong=False),
    ),
    "miscount": (lambda: counted(wrong=True), lambda: counted(wrong=False)),
    "not-linearizable": (lambda: registered(wrong=True), lambda: registered(wrong=False)),
    "duplicate-sequence": (lambda: numbered(wrong=True), lambda: numbered(wrong=False)),
    "sequence-regression": (lambda: growing(wrong=True), lambda: growing(wrong=False)),
    "two-decisions": (lambda: committed(second="abort"), committed),
    "two-decisions, on the servers": (
        lambda: committed(on_servers={"t": [Decided("commit", "0x1"), Decided("abort", "0x2")]}),
        lambda: committed(on_servers={"t": [Decided("commit", "0x1")]}),
    ),
    "invalid-commit": (lambda: committed(vote="no"), committed),
    "invalid-commit, before the last vote": (lambda: committed(voted_at=30), committed),
    "lost-vote": (lambda: voted("no", "c1"), lambda: voted("yes", "c0")),
    "lost-vote, that is gone": (lambda: voted("", ""), lambda: voted("yes", "c0")),
    "blocked-transaction": (lambda: outcomes_told(blocked=["t"]), outcomes_told),
    "blocked-transaction, that is not known": (lambda: outcomes_told(known=False), outcomes_told),
    "ghost-entry": (lambda: listed(wrong=True), lambda: listed(wrong=False)),
    "ghost-entry, after its session": (
        lambda: discovered("a", gone_ms=3_000),
        lambda: discovered(gone_ms=3_000),
    ),
    "ghost-entry, made twice by one session": (
        lambda: discovered_twice(second_by="0x1"),
        lambda: discovered_twice(second_by="0x2"),
    ),
    "ghost-entry, in the end": (
        lambda: gathered(["a", "b"], ["a"]),
        lambda: gathered(["a"], ["a"]),
    ),
    "missing-entry": (discovered, lambda: discovered("a")),
    "missing-entry, acknowledged": (
        lambda: discovered("a", registered="c"),
        lambda: discovered("a", registered="a"),
    ),
    "missing-entry, in the end": (lambda: gathered([], ["a"]), lambda: gathered(["a"], ["a"])),
    "stale-view": (lambda: converged(wrong=True), lambda: converged(wrong=False)),
    "stale-view, of who is there": (
        lambda: gathered(["a"], ["b"]),
        lambda: gathered(["a"], ["a"]),
    ),
    "shared-partition": (lambda: owned(["p", "q"], ["p"]), lambda: owned(["q"], ["p"])),
    "hasty-share": (lambda: shared_out(completed=350), lambda: shared_out(completed=450)),
    "partial-share": (dealt, lambda: dealt("q")),
    "unowned-partition": (lambda: owned(["p"], []), lambda: owned(["p"], ["q"])),
    "lost-job": (lambda: jobs(effects={}, told=()), jobs),
    "repeated-effect": (lambda: jobs(effects={"j": 2}), jobs),
    "repeated-effect, in the logs": (
        lambda: jobs(makers={"j": [None, None]}),
        lambda: jobs(makers={"j": [None]}),
    ),
    "unnotified-submitter": (lambda: jobs(told=(), untold=["j"]), jobs),
    "false-completion": (
        lambda: jobs(told=("j", "k"), effects={"j": 1}),
        lambda: jobs(told=("j", "k"), effects={"j": 1, "k": 1}),
    ),
    "denied-job": (lambda: jobs(known=False), jobs),
    "phantom-element": (lambda: queued(put=None), lambda: queued(put="ok")),
    "phantom-element, whose put failed": (lambda: queued(put="fail"), lambda: queued(put="info")),
}


def kinds(result):
    return {anomaly.kind for anomaly in result.anomalies}


@pytest.mark.parametrize("name", CASES)
def test_the_anomaly_is_found_and_nothing_else(name):
    wrong, right = CASES[name]
    found = wrong()
    assert kinds(found) == {name.partition(",")[0]}
    assert all(anomaly.description for anomaly in found.anomalies)
    assert kinds(right()) == set()


def test_every_kind_that_a_checker_reports_is_found_in_some_history():
    def text(*folders):
        paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
        return "\n".join(path.read_text() for path in paths if path.name != "verdict.py")

    reported, tested = text("checker", "workloads"), text("tests/checker")
    quoted = {kind: re.compile(f"[\"']{kind}[\"']") for kind in all_kinds()}
    missing = {
        kind
        for kind in all_kinds()
        if quoted[kind].search(reported) and not quoted[kind].search(tested)
    }
    assert missing == set()
