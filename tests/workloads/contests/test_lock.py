"""What the lock family's own recipes are asked: verdicts on histories by hand, and whole runs."""

import dataclasses
from collections import Counter

import pytest

from rumpus.checker.exclusion.fence import check_fence
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.history import Op
from rumpus.checker.servers.server_truth import ZnodeLife
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Words, extract_holds
from rumpus.checker.timeline.timeline import Place
from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.script import Client, Rest
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.workloads.contests.lock import LOCK, WORDS
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import Ending, dry_run
from tests.sampling import sampled

PATH = "/rumpus/lock"
CLOCK = WallClock([(0, 0)])


def node(number):
    return f"{PATH}/x-contender-{number:010d}"


class Truth:
    """What servers' logs tell of nodes, and of writes."""

    def __init__(self, lives=(), committed=()):
        self._lives = list(lives)
        self.committed = tuple(committed)

    def znodes(self, _path):
        return self._lives


def life(number, end, how, **more):
    return ZnodeLife(
        path=node(number),
        czxid=100 + number,
        created_ms=0,
        created_by="0x1",
        owner="0x1",
        data=None,
        deleted_ms=end,
        deleted_zxid=200 + number,
        how=how,
        **more,
    )


def hold(recorded, process, number, called, granted, released=None, **more):
    recorded.acquire(called, granted, process, token=100 + number, node=node(number), **more)
    if released is not None:
        recorded.release(released, released + 1, process)
    return recorded


def kinds(result):
    return [anomaly.kind for anomaly in result.anomalies]


def judge_delay(recorded, *lives, delay=1.0):
    history = recorded.history()
    holds = extract_holds(history, WORDS)
    return check_lock_delay(
        laid_out(history, lock_delay=delay, holds=holds, truth=Truth(lives), clock=CLOCK, path=PATH)
    )


@pytest.mark.parametrize("how", ["expired", "closed"])
@pytest.mark.parametrize(("granted", "found"), [(1900, ["early-grant"]), (2001, [])])
def test_after_a_failure_nobody_is_granted_it_for_the_delay(how, granted, found):
    recorded = hold(Recorded(), 0, 0, 1, 2)
    hold(recorded, 1, 1, 3, granted, granted + 5)
    assert kinds(judge_delay(recorded, life(0, 1000, how), life(1, granted + 6, "multi"))) == found


def test_after_a_release_one_may_be_granted_it_at_once():
    recorded = hold(hold(Recorded(), 0, 0, 1, 2, 1000), 1, 1, 3, 1002, 1010)
    assert kinds(judge_delay(recorded, life(0, 1001, "multi"), life(1, 1011, "multi"))) == []


def test_a_grant_that_came_before_the_failure_but_was_told_late_is_not_early():
    recorded = hold(hold(Recorded(), 1, 1, 3, 500), 0, 0, 1, 1500)
    assert kinds(judge_delay(recorded, life(1, 1000, "expired"))) == []


def test_without_logs_nobody_can_tell_which_holders_failed():
    history = hold(Recorded(), 0, 0, 1, 2).history()
    result = check_lock_delay(
        laid_out(
            history,
            lock_delay=1.0,
            holds=extract_holds(history, WORDS),
            truth=None,
            clock=None,
            path=PATH,
        )
    )
    assert result.unknown


@pytest.mark.parametrize(("pause", "found"), [(1100, ["stuck-waiter"]), (5, [])])
def test_in_the_end_releases_are_followed_at_once(pause, found):
    recorded = Recorded().add(0, "control", "info", "phase", {"phase": "final", "healed": True})
    at = 10
    for process in range(3):
        hold(recorded, process, process, 1, at, at + 2)
        at += pause + 2
    assert kinds(judge_delay(recorded)) == found


def test_one_slow_handover_is_no_delay_after_releases():
    recorded = Recorded().add(0, "control", "info", "phase", {"phase": "final", "healed": True})
    for process, at in enumerate((10, 1500, 1505)):
        hold(recorded, process, process, 1, at, at + 2)
    assert kinds(judge_delay(recorded)) == []


def fence(recorded, *tokens):
    data = f"{PATH}-data"
    committed = [
        Txn(
            zxid=zxid,
            session=1,
            cxid=1,
            time_ms=0,
            type=5,
            name="setData",
            path=data,
            data=str(token).encode(),
        )
        for zxid, token in enumerate(tokens)
    ]
    history = recorded.history()
    return check_fence(
        laid_out(
            history,
            words=Words(work=WORDS.work),
            path=data,
            line=Place("single", "/l"),
            holds=extract_holds(history, WORDS),
            truth=Truth(committed=committed),
        ),
        beside="",
    )


def work(recorded, process, at, outcome="ok", **value):
    value = {"acts": 1, "writes": [], **value}
    return recorded.add(at, process, "invoke", "work").add(at + 1, process, outcome, "work", value)


def test_tokens_behind_a_fence_do_not_go_back_in_the_logs():
    assert kinds(fence(Recorded(), 33, 33, 34)) == []
    assert kinds(fence(Recorded(), 33, 34, 33)) == ["stale-action"]


def test_what_is_no_token_leaves_the_fence_unjudged():
    for written in ("3x", "²", "9" * 5000):
        (why,) = fence(Recorded(), 33, written).unknown
        assert why.endswith(f"at zxid 0x1 has written to {PATH}-data is no token")


def test_tokens_behind_a_fence_do_not_go_back_by_the_versions_that_were_told():
    recorded = work(work(Recorded(), 0, 1, writes=[(34, 2)]), 1, 3, writes=[(33, 1)])
    assert kinds(fence(recorded)) == []
    assert kinds(fence(work(recorded, 1, 5, writes=[(33, 3)]))) == ["stale-action"]


def test_who_has_the_highest_token_is_not_refused():
    recorded = hold(Recorded(), 0, 0, 1, 2)
    work(recorded, 0, 3, "fail", refused=100)
    assert kinds(fence(recorded)) == ["refused-sequencer"]
    overtaken = hold(hold(Recorded(), 0, 0, 1, 2), 1, 1, 1, 3)
    assert kinds(fence(work(overtaken, 0, 5, "fail", refused=100))) == []


def verified(recorded, at, valid, *, sequencer="s0"):
    recorded.add(at, 2, "invoke", "verify", {"sequencer": sequencer})
    return recorded.add(at + 2, 2, "ok", "verify", {"valid": valid})


def judge_sequencers(recorded, *lives):
    history = recorded.history()
    holds = extract_holds(history, WORDS)
    return check_sequencers(
        laid_out(history, holds=holds, words=WORDS, truth=Truth(lives), clock=CLOCK, path=PATH)
    )


@pytest.mark.parametrize(
    ("at", "valid", "found"),
    [
        (20, True, []),
        (20, False, ["refused-sequencer"]),
        (59, True, []),
        (59, False, []),
        (70, False, []),
        (70, True, ["stale-sequencer"]),
    ],
)
@pytest.mark.parametrize("told", ["by the release", "by the logs"])
def test_a_sequencer_stands_as_long_as_its_hold(at, valid, found, told):
    released = 60 if told == "by the release" else None
    recorded = hold(Recorded(), 0, 0, 1, 10, released, sequencer="s0")
    lives = [] if told == "by the release" else [life(0, 60, "expired")]
    assert kinds(judge_sequencers(verified(recorded, at, valid), *lives)) == found


@pytest.mark.parametrize("lives", [[life(0, 30, "expired")], []])
def test_a_release_that_is_acknowledged_after_the_hold_has_ended_does_not_prolong_it(lives):
    recorded = hold(Recorded(), 0, 0, 1, 10, sequencer="s0")
    recorded.session(25, 0, "doubts")
    verified(recorded, 40, valid=False)
    recorded.release(60, 61, 0)
    assert kinds(judge_sequencers(recorded, *lives)) == []


def test_of_a_hold_whose_end_nobody_knows_any_answer_may_be_right():
    recorded = hold(Recorded(), 0, 0, 1, 10, sequencer="s0")
    recorded.add(50, 0, "invoke", "release").add(60, 0, "info", "release")
    for valid in (True, False):
        verified(recorded, 70 + 5 * valid, valid)
    assert kinds(judge_sequencers(recorded)) == []


def setting(recipe):
    return WorkloadContext(
        seed=Seed(3),
        recipe=LOCKS[recipe].recipe,
        clients=4,
        session_timeout=2.0,
        until=5_000_000_000,
    )


def dispatched(recipe):
    load = on_clients(LOCK.load_of(setting(recipe)))
    return dry_run(
        load, clients=4, nemesis=False, behaviour=lambda *_: Ending(0, 10_000_000, "ok")
    ).dispatches


def test_the_last_client_verifies_what_the_others_were_granted():
    context = setting("sequencer")
    recent = LOCK.shared()
    verifier = LOCK.load(Client(3, context, Seed(1), recent))
    assert isinstance(next(verifier), Rest), "nothing to verify yet"
    contender = LOCK.load(Client(0, context, Seed(1), recent))
    next(contender)
    for number in range(6):
        step = contender.send(granted(f"s{number}"))
        while step.f != "acquire":
            step = contender.send(granted(None))
    asked = set()
    for _ in range(40):
        question = next(verifier)
        assert question.f == "verify"
        asked.add(question.value["sequencer"])
        assert isinstance(next(verifier), Rest), "one question at a time"
    assert asked == {"s2", "s3", "s4", "s5"}, "the latest ones"


def granted(sequencer):
    value = {} if sequencer is None else {"sequencer": sequencer}
    return Op(time=0, process=0, type="ok", f="acquire", value=value)


def test_nobody_verifies_after_the_load_nor_where_there_is_one_client_only():
    context = setting("sequencer")
    over = Client(3, context, Seed(1), LOCK.shared())
    over.time = context.until
    assert list(LOCK.load(over)) == []
    alone = Client(0, dataclasses.replace(context, clients=1), Seed(1), LOCK.shared())
    assert next(LOCK.load(alone)).f == "acquire"


def test_only_what_ends_by_itself_is_held_for_long():
    def longest(recipe):
        work, most = Counter(), 0.0
        for _, what, _ in dispatched(recipe):
            if what.f == "work":
                work[what.process] += what.value["acts"] * what.value["pause"]
                most = max(most, work[what.process])
            elif what.f == "release":
                work[what.process] = 0
        return most

    assert longest("fair") < 0.1
    assert 2 < longest("validity") < 6


def found(verdict):
    return {anomaly.kind for anomaly in verdict.anomalies if anomaly.promised}


@sampled(
    ("recipe", "seconds", "kinds_of_fault", "expected"),
    [
        ("countdown", 8.0, ["client-pause"], "stale-belief"),
        ("memory-fence", 8.0, ["client-pause"], "stale-action"),
        ("delay-since-taken", 8.0, ["client-pause"], "early-grant"),
        ("verified-by-path", 3.0, [], "stale-sequencer"),
        ("kazoo-lease", 8.0, [], "split-brain"),
    ],
    of=5,
)
def test_each_mistake_is_caught(simulate, recipe, seconds, kinds_of_fault, expected):
    _, _, verdict = simulate(1, recipe=recipe, seconds=seconds, kinds=kinds_of_fault)
    assert expected in found(verdict)


@sampled("recipe", ["validity", "fenced", "lock-delay"], of=3)
def test_the_same_runs_with_the_sound_recipes_are_clean(simulate, recipe):
    _, _, verdict = simulate(1, recipe=recipe, seconds=8.0, kinds=["client-pause"])
    assert found(verdict) == set()
    assert verdict.outcome == "valid"
    if recipe == "fenced":
        assert "fenced" in {anomaly.kind for anomaly in verdict.anomalies}
