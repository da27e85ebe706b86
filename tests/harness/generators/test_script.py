import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.history import Op
from rumpus.harness.generators import combinators as gen
from rumpus.harness.generators.generator import NEMESIS, Context, Invocation, Pending
from rumpus.harness.generators.script import (
    Client,
    Draws,
    Rest,
    Script,
    each_client,
    only,
    until_answered,
    until_ok,
)
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from tests.harness.generators.dry_run import dry_run, imperfect, perfect

SECOND = 1_000_000_000
CLIENTS = 3


def context(clients=CLIENTS, until=SECOND):
    return WorkloadContext(Seed(4), None, clients, session_timeout=2.0, until=until)


def dispatched(script, behaviour=perfect, **options):
    generator = each_client(script, context(), **options)
    return dry_run(generator, clients=CLIENTS, behaviour=behaviour, most=400).dispatches


def test_every_client_goes_through_the_steps_in_their_order():
    def script(client):
        yield Invocation("first", client.number)
        yield Invocation("second", client.clients)

    done = dispatched(script)
    for number in range(CLIENTS):
        assert [(each.what.f, each.what.value) for each in done if each.what.thread == number] == [
            ("first", number),
            ("second", CLIENTS),
        ]
    assert all(each.what.thread != NEMESIS for each in done)


def test_a_script_is_told_what_came_of_each_step():
    seen = []

    def script(client):
        for f in ("a", "b"):
            came = yield Invocation(f)
            seen.append((client.number, came.f, came.type))
            assert client.time >= came.time

    dispatched(script)
    assert sorted(seen) == [(n, f, "ok") for n in range(CLIENTS) for f in ("a", "b")]


def test_a_rest_is_as_long_as_it_says_and_the_time_moves_on():
    times = []

    def script(client):
        yield Invocation("before")
        began = client.time
        came = yield client.rest(0.5)
        assert came.f == "before", "a rest is resumed with the last completion"
        times.append(client.time - began)
        yield Invocation("after")

    dispatched(script)
    assert times == [SECOND // 2] * CLIENTS


def test_a_client_that_lost_track_begins_anew_or_goes_on():
    def script(client):
        for number in range(3):
            yield Invocation("step", (client.process, number))

    anew = [each.what.value for each in dispatched(script, imperfect)]
    assert all((process, 0) in anew for process, _ in anew)
    on = [each.what.value[1] for each in dispatched(script, imperfect, renew=False)]
    assert sorted(on) == sorted([0, 1, 2] * CLIENTS)


def test_a_script_is_told_how_the_process_before_it_ended():
    told = []

    def script(client):
        told.append((client.process, client.before and (client.before.process, client.before.type)))
        for number in range(3):
            yield Invocation("step", number)

    dispatched(script, imperfect)
    assert [before for process, before in told if process < CLIENTS] == [None] * CLIENTS
    later = [(process, before) for process, before in told if process >= CLIENTS]
    assert later
    assert all(before == (process - CLIENTS, "info") for process, before in later)


def test_scripts_share_what_the_workload_made():
    shared = []

    def script(client):
        client.shared.append(client.number)
        yield Invocation("step")

    dispatched(script, shared=shared)
    assert sorted(shared) == list(range(CLIENTS))


def test_how_long_it_is_to_a_moment():
    client = Client(0, context(), Seed(1))
    client.time = SECOND
    assert client.after(0.25) == SECOND + SECOND // 4
    assert client.seconds_to(client.after(0.25)) == 0.25
    assert client.seconds_to(0) == 0.0
    assert client.rest(0.5, end=client.after(0.25)) == Rest(0.25)
    assert client.rest(0.5, end=0) == Rest(0.0)
    assert client.rest(0.1, 0.2, end=client.after(0.25)).seconds < 0.2


@pytest.mark.parametrize("clients", [{1}, lambda client: client.number == 1])
def test_only_these_clients_do_anything(clients):
    def script(client):
        yield Invocation("step", client.number)

    assert [each.what.value for each in dispatched(only(clients, script))] == [1]


def test_until_ok_pauses_between_two_tries():
    steps = until_ok(Invocation("read"), 2, pause=0.5)(Client(0, context(), Seed(1)))
    next(steps)
    failed = Op(time=1, process=0, type="fail", f="read")
    assert steps.send(failed) == Rest(0.5)
    assert steps.send(failed) == Invocation("read")
    with pytest.raises(StopIteration):
        steps.send(failed)


def test_until_ok_makes_its_step_of_the_client():
    def step(client):
        return Invocation("converge", client.context.session_timeout + client.number)

    steps = until_ok(step, 1)(Client(3, context(), Seed(1)))
    assert next(steps) == Invocation("converge", 5.0)


def test_no_new_work_begins_when_the_time_is_over():
    def script(client):
        while not client.is_over:
            yield Invocation("work")
            yield client.rest(0.01, 0.02)

    done = dispatched(script)
    assert len(done) > 20
    assert all(each.time < SECOND for each in done)


def test_a_script_knows_whether_its_clients_links_are_cut():
    def script(client):
        while not client.is_over:
            yield Invocation("look", (client.number, client.cut_off))

    generator = each_client(script, context())
    done = dry_run(generator, clients=CLIENTS, cut=lambda now: 0b110 if now > SECOND // 2 else 0)
    asked = [op for op in done.history if op.type == "invoke"]
    assert {(op.value, op.time > SECOND // 2) for op in asked} == {
        ((number, late and number > 0), late) for number in range(CLIENTS) for late in (False, True)
    }


def test_asked_twice_at_one_moment_it_answers_the_same():
    def script(client):
        yield Invocation("draw", client.draws.below(1000))
        yield client.rest(1.0)
        yield Invocation("draw", client.draws.below(1000))

    made = Script(script, Client(0, context(clients=1), Seed(1)))
    now = Context.start(clients=1, time=5)
    assert made.op(now) == made.op(now)
    what, _ = made.op(now)
    made.update(now, Op(time=5, process=0, type="invoke", f="draw", value=what.value))
    assert made.op(now)[0] == what
    made.update(now, Op(time=6, process=0, type="ok", f="draw", value=what.value))
    assert made.op(now) == made.op(now) == (Pending(5 + SECOND), made)
    later = Context.start(clients=1, time=5 + SECOND)
    assert made.op(later) == made.op(later)
    made.update(later, Op(time=9, process=0, type="ok", f="draw"))
    assert made.op(later) is None
    assert made.op(later) is None


@pytest.mark.parametrize(("outcomes", "tried"), [(["ok"], 1), (["fail", "info", "ok"], 3)])
def test_until_ok_repeats_until_then(outcomes, tried):
    steps = until_ok(Invocation("read"), 5)(Client(0, context(), Seed(1)))
    assert next(steps) == Invocation("read")
    *early, last = [Op(time=1, process=0, type=outcome, f="read") for outcome in outcomes]
    assert [steps.send(came) for came in early] == [Invocation("read")] * (tried - 1)
    with pytest.raises(StopIteration):
        steps.send(last)


@pytest.mark.parametrize(("error", "answered"), [(None, True), ("", True), ("timed out", False)])
def test_a_refusal_is_an_answer(error, answered):
    refused = Op(time=1, process=0, type="fail", f="read", error=error)
    steps = until_answered(Invocation("read"), 2)(Client(0, context(), Seed(1)))
    next(steps)
    if answered:
        with pytest.raises(StopIteration):
            steps.send(refused)
    else:
        assert steps.send(refused) == Invocation("read")


def test_completions_are_heeded_before_any_script_goes_on():
    """A script goes on when its client's turn comes; others know before what came of its step."""
    known, told, ahead = [], [], []

    def script(client):
        for _ in range(3):
            came = yield Invocation("step", client.number)
            told.append(came)
            ahead.append(len(known) - len(told))

    paced = gen.stagger(
        0.05, each_client(script, context(), on_completion=known.append), seed=Seed(1)
    )
    done = dry_run(paced, clients=CLIENTS, behaviour=perfect).dispatches
    assert sorted(known, key=lambda op: op.time) == known
    assert len(known) == len(told) == len(done) == 3 * CLIENTS
    assert max(ahead) > 0


def test_until_ok_gives_up():
    steps = until_ok(Invocation("read"), 2)(Client(0, context(), Seed(1)))
    next(steps)
    steps.send(Op(time=1, process=0, type="fail", f="read"))
    with pytest.raises(StopIteration):
        steps.send(Op(time=2, process=0, type="fail", f="read"))


@given(st.integers(0, 2**32), st.integers(1, 50))
def test_draws_are_decided_by_the_seed(number, bound):
    first, second = Draws(Seed(number)), Draws(Seed(number))
    for _ in range(5):
        assert first.below(bound) == second.below(bound) < bound
        assert first.uniform(2.0, 3.0) == second.uniform(2.0, 3.0)
        assert first.choose("abc") == second.choose("abc")
        assert first.one_in(bound) == second.one_in(bound)
        assert first.weighted((1, "a"), (bound, "b")) == second.weighted((1, "a"), (bound, "b"))
        assert sorted(first.shuffle("abc")) == sorted(second.shuffle("abc")) == ["a", "b", "c"]
    assert 2.0 <= first.uniform(2.0, 3.0) < 3.0


def test_weights_are_shares():
    draws = Draws(Seed(1))
    drawn = [draws.weighted((3, "a"), (0, "b"), (1, "c")) for _ in range(4000)]
    assert drawn.count("a") == pytest.approx(3000, rel=0.05)
    assert drawn.count("b") == 0
    assert drawn.count("a") + drawn.count("c") == 4000
