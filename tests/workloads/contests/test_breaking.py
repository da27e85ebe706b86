"""Breaking locks: the load, the judgement, and whole runs in the simulation."""

from itertools import pairwise

import pytest

from rumpus.checker.history import Op
from rumpus.checker.servers.server_truth import SessionLife, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.harness.clients.workers import CLIENT_KILLED
from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.script import Client, Rest
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.recipes.breaking.breakable_lock import BlacklistLock, IdentityLock, ServiceBlacklistLock
from rumpus.workloads.contests.breaking import BREAKING, HANG_S, QUICK
from tests.checker.recorded import Recorded
from tests.harness.generators.dry_run import Ending, dry_run, imperfect, perfect
from tests.sampling import sampled

SECOND = 1_000_000_000
NODE = "/rumpus/breaking/x-contender-0000000001"


def setting(recipe, seed=1):
    return WorkloadContext(
        seed=Seed(seed), recipe=recipe, clients=5, session_timeout=2.0, until=20 * SECOND
    )


def dry(generator, behaviour=perfect):
    return dry_run(
        on_clients(generator),
        clients=5,
        nemesis=False,
        cleanup=BREAKING.cleanup,
        behaviour=behaviour,
        seed=Seed(5),
    )


def test_some_holders_hang_and_the_last_client_breaks_locks():
    dispatches = dry(BREAKING.load_of(setting(BlacklistLock))).dispatches
    breakers = {what.thread for _, what, _ in dispatches if what.f == "break"}
    assert breakers == {4}
    assert {what.thread for _, what, _ in dispatches if what.f == "acquire"} == {0, 1, 2, 3}
    works = [what.value.get("hang") for _, what, _ in dispatches if what.f == "work"]
    assert set(works) == {None, *HANG_S}
    assert 0.05 < sum(each is not None for each in works) / len(works) < 0.25
    assert "die" not in {what.f for _, what, _ in dispatches}


def test_an_operator_that_cannot_look_pauses():
    refused = dry(BREAKING.load_of(setting(BlacklistLock)), lambda *_: Ending(0, 1, "fail"))
    times = [at for at, what, _ in refused.dispatches if what.f == "break"]
    assert times
    assert all(later - one >= SECOND // 10 for one, later in pairwise(times))


def test_a_grant_is_followed_by_work_and_then_death_or_release():
    pairs = {}
    for pair in dry(BREAKING.load_of(setting(BlacklistLock)), imperfect).history.operations():
        pairs.setdefault(pair.invoke.process, []).append(pair)
    deepest = 0
    for life in pairs.values():
        depth, lost = 0, False
        for earlier, later in pairwise(life):
            name, following = earlier.invoke.f, later.invoke.f
            if name == "work":
                lost = earlier.outcome == "fail" and depth == 1
                assert following == ("acquire" if lost else "release")
            elif name == "acquire" and (lost or (depth and earlier.outcome != "ok")):
                depth += earlier.outcome == "ok"
                assert following == "release"
            elif name == "acquire" and earlier.outcome == "ok":
                depth += 1
                assert following == "work" or (depth == 1 and following == "acquire")
            lost = lost and name == "work"
            if earlier.invoke.f == "release":
                depth = depth - 1 if depth and earlier.outcome == "ok" else 0
                assert later.invoke.f == ("release" if depth else "acquire")
            deepest = max(deepest, depth)
    assert deepest == 2, "holders enter again now and then"


def completion(process, type_, f, value=None, error=None):
    return Op(time=1, process=process, type=type_, f=f, value=value, error=error)


def script(number, shared, before=None):
    client = Client(number, setting(IdentityLock), Seed(1), shared, before)
    return BREAKING.load(client)


@pytest.mark.parametrize("death", ["declared", "killed"])
def test_supervisors_look_for_the_dead_until_they_have_freed_them(death):
    shared = BREAKING.shared()
    supervisors = {number: script(number, shared) for number in (3, 4)}
    assert all(isinstance(next(each), Rest) for each in supervisors.values()), "nobody is dead"
    shared.note(0, completion(0, "ok", "work", {"acts": 3, "identity": "c0/1"}))
    if death == "declared":
        shared.note(0, completion(0, "ok", "die", {"identity": "c0/1"}))
    else:
        before = completion(0, "info", "work", {"acts": 3}, CLIENT_KILLED)
        assert next(script(0, shared, before)).f == "acquire"
    looked = completion(3, "ok", "free", {"freed": None, "removed": False})
    for removed, supervisor in ((True, supervisors[4]), (False, supervisors[3])):
        look = next(supervisor)
        assert (look.f, look.value["dead"]) == ("free", ["c0/1"])
        assert isinstance(supervisor.send(looked), Rest), "it rests"
        assert next(supervisor).value["dead"] == ["c0/1"], "and looks again"
        freed = completion(4, "ok", "free", {"freed": "c0/1", "removed": removed})
        assert isinstance(supervisor.send(freed), Rest)
        assert isinstance(next(supervisor), Rest), "and for nobody else"


def test_an_unknown_outcome_is_no_death():
    shared = BREAKING.shared()
    shared.note(0, completion(0, "ok", "work", {"identity": "c0/1"}))
    script(0, shared, completion(0, "info", "release", None, "no answer"))
    assert shared.dead == []


class Truth:
    committed = uncertain = forked = reasons = ()

    def __init__(self, how, by):
        ended = {"closed_zxid": 9, "closed_ms": 300} if how in ("closed", "expired") else {}
        ended |= {"expired": True} if how == "expired" else {}
        self._sessions = {
            "0x1": SessionLife("0x1", 1, 0, 2000, **ended),
            "0x2": SessionLife("0x2", 2, 0, 2000),
        }
        self._life = ZnodeLife(NODE, 5, 20, "0x1", "0x1", b"c0/1", 9, 300, by, how)

    def sessions(self):
        return self._sessions

    def znodes(self, path="/"):
        named = [ZnodeLife(f"{path}/0x1", 7, 250, "0x2", None, b"")]
        return named if path.endswith("/blacklist") else [self._life]

    def epochs(self):
        return {1: None}

    def contested(self):
        return frozenset()


def judged(recorded, recipe, truth):
    evidence = Timeline(
        history=recorded.end(9000).history(),
        promises=recipe.promises,
        truth=truth,
        clock=WallClock([(0, 0)]),
        line=recipe.line("/rumpus/breaking"),
        session_timeout=2.0,
    )
    verdict = BREAKING.judge(evidence)
    quick = [r.observed for check in verdict.checks for r in check.requirements if r.name == QUICK]
    return {a.kind for a in verdict.anomalies if a.promised}, quick


def hanging(until=3000):
    recorded = Recorded(3).session(0, 0, "connected", session="0x1")
    recorded.session(0, 2, "connected", session="0x2")
    recorded.acquire(10, 30, 0, token=5, node=NODE)
    recorded.add(40, 0, "invoke", "work", {"acts": 3, "pause": 0.01, "hang": 3.0})
    recorded.add(100, 2, "invoke", "break", {"patience": 0.1})
    recorded.add(250, 2, "ok", "break", {"session": "0x1", "node": NODE, "token": 5})
    recorded.session(290, 0, "doubts", session="0x1")
    return recorded.add(until, 0, "fail", "work", {"acts": 1})


def test_a_holder_that_obeys_is_a_lock_that_passed_on_in_time():
    assert judged(hanging(), BlacklistLock, Truth("closed", "0x1")) == (set(), [1])


def test_a_holder_whose_node_is_deleted_was_robbed_and_its_session_lives_on():
    kinds, quick = judged(hanging(), BlacklistLock, Truth("deleted", "0x2"))
    assert (kinds, quick) == ({"freed-live-holder", "missed-revocation"}, [0])


def test_a_session_that_the_service_refuses_has_to_expire_in_time():
    recorded = hanging(until=8000)
    assert judged(recorded, ServiceBlacklistLock, Truth("expired", "0x1")) == (set(), [1])
    kinds, quick = judged(hanging(until=8000), ServiceBlacklistLock, Truth("reaped", "0x2"))
    assert (kinds, quick) == ({"lingering-session"}, [0])


def dying():
    recorded = Recorded(3).session(0, 0, "connected", session="0x1")
    recorded.session(0, 2, "connected", session="0x2")
    recorded.acquire(10, 30, 0, token=5, node=NODE)
    recorded.add(40, 0, "invoke", "die")
    recorded.add(41, 0, "ok", "die", {"identity": "c0/1", "node": NODE, "token": 5})
    return recorded.session(41, 0, "doubts", session="0x1")


def test_who_has_died_may_be_freed():
    assert judged(dying(), IdentityLock, Truth("deleted", "0x2")) == (set(), [1])


def test_who_has_not_died_may_not():
    recorded = Recorded(3).session(0, 0, "connected", session="0x1")
    recorded.session(0, 2, "connected", session="0x2").acquire(10, 30, 0, token=5, node=NODE)
    assert judged(recorded, IdentityLock, Truth("deleted", "0x2"))[0] == {"freed-live-holder"}


def test_without_the_servers_logs_nobody_can_tell():
    evidence = Timeline(history=hanging().end(9000).history(), promises=BlacklistLock.promises)
    assert BREAKING.judge(evidence).valid == "unknown"


@sampled("recipe", ["blacklist", "by-identity", "service-blacklist"], of=3)
def test_sound_recipes_in_the_simulation(simulate, recipe):
    _, _, verdict = simulate(3, workload="breaking", recipe=recipe, kinds=(), seconds=12.0)
    assert verdict.outcome == "valid", verdict.reasons
