import time

import pytest

from rumpus.recipes.double_barrier.catalogue import DOUBLE_BARRIERS
from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.requests.retrying_call import RetryingCall

# The bare variants of kazoo's recipes repair nothing and promise less.
SOUND = [
    name
    for name, recipe in DOUBLE_BARRIERS.items()
    if not recipe.faulty and not name.endswith("bare")
]


def barriers(crowd, path, parties=3, kind=DoubleBarrier, **options):
    return [kind(crowd[number], path, parties, **options) for number in range(parties)]


def all_enter(crowd, members):
    calls = [crowd.in_thread(member.enter, 20) for member in members]
    assert all(call.result() for call in calls)


@pytest.mark.parametrize("name", SOUND)
def test_all_go_in_together_and_out_together_round_after_round(crowd, path, name):
    if name == "kazoo":
        pytest.skip("a member that is slow to enter waits for ever: finding 15")
    inside, outside = [], []

    def pass_rounds(barrier):
        for number in range(1, 4):
            inside.append(number)
            assert barrier.enter(20)
            assert inside.count(number) == 3
            assert barrier.inside
            outside.append(number)
            assert barrier.leave(20)
            assert outside.count(number) == 3
            assert not barrier.inside

    members = barriers(crowd, path, kind=DOUBLE_BARRIERS[name].recipe)
    for call in [crowd.in_thread(pass_rounds, member) for member in members]:
        call.result()
    assert crowd.children(path) == []


def test_who_gives_up_entering_lets_nobody_in(crowd, path):
    first, second, third = barriers(crowd, path)
    assert first.enter(0.1) is False
    assert crowd.children(path) == []
    assert crowd.in_thread(second.enter, 0.3).result() is False
    all_enter(crowd, [first, second, third])
    assert first.leave(0.1) is False  # left, the others have not
    assert second.leave(0) is False
    assert third.leave(5)
    assert first.leave(5)
    with pytest.raises(NotInside, match="not entered"):
        first.leave()
    assert not any(crowd[number].state_listeners for number in (0, 2))


MORE = [name for name in SOUND if DOUBLE_BARRIERS[name].recipe.more_clients]


@pytest.mark.parametrize("name", MORE)
def test_who_finds_no_room_waits_for_the_next_round(crowd, path, name, eventually):
    kind = DOUBLE_BARRIERS[name].recipe
    members = [kind(crowd[number], path, 2) for number in range(3)]
    all_enter(crowd, members[:2])
    waiting = crowd.in_thread(members[2].enter, 20)
    eventually(lambda: len(crowd.children(path)) == 3)
    time.sleep(0.2)
    assert waiting.is_alive()
    assert not members[2].inside
    assert all(call.result() for call in [crowd.in_thread(m.leave, 20) for m in members[:2]])
    assert waiting.is_alive()
    assert members[0].enter(20)
    assert waiting.result()
    assert all(call.result() for call in [crowd.in_thread(members[n].leave, 20) for n in (0, 2)])
    assert crowd.children(path) == []


def test_who_looks_late_is_let_out_while_the_next_round_is_on(crowd, path):
    """As who has left and whose wait was over before the others had left, and asks again."""
    members = [DoubleBarrier(crowd[number], path, 2) for number in range(3)]
    all_enter(crowd, members[:2])
    assert members[0].leave(0.1) is False
    assert members[1].leave(20)
    all_enter(crowd, members[1:])
    assert members[0].leave(5)
    assert [member.inside for member in members] == [False, True, True]


def test_a_round_opens_without_who_gave_up(crowd, path):
    """Whose node was there when the others were counted."""
    members = [DoubleBarrier(crowd[number], path, 2) for number in range(2)]
    with RetryingCall(crowd[0], 5, 0.0) as call:
        roll = members[0]._roll(call)
        members[0]._open(roll, ["gone"], call)
        assert members[0]._roll(call) == roll
    all_enter(crowd, members)


def test_who_dies_on_the_way_in_is_not_counted(crowd, path, eventually):
    members = barriers(crowd, path)
    waiting = [crowd.in_thread(member.enter, 20) for member in members[:2]]
    eventually(lambda: len(crowd.children(path)) == 2)
    crowd.end_session(1)
    eventually(lambda: len(crowd.children(path)) == 1)
    third = crowd.in_thread(members[2].enter, 20)
    time.sleep(0.3)
    assert waiting[0].is_alive()
    assert third.is_alive()
    crowd.let_find_out(1)  # and comes again
    assert all(call.result() for call in (*waiting, third))


def test_the_others_need_not_wait_for_a_member_that_died_inside(crowd, path):
    members = barriers(crowd, path)
    all_enter(crowd, members)
    leaving = [crowd.in_thread(member.leave, 20) for member in members[:2]]
    time.sleep(0.2)
    assert all(call.is_alive() for call in leaving)
    crowd.end_session(2)
    assert all(call.result() for call in leaving)
    crowd.let_find_out(2)
    assert not members[2].inside
    with pytest.raises(NotInside, match="session has ended"):
        members[2].leave()
    all_enter(crowd, members)


def test_a_waiter_looks_again_after_a_reconnect(crowd, path, eventually):
    members = barriers(crowd, path)
    waiting = crowd.in_thread(members[0].enter)
    eventually(lambda: len(crowd.children(path)) == 1)
    crowd.links.cut(0, "reset")
    eventually(lambda: not crowd[0].connected)
    others = [crowd.in_thread(member.enter) for member in members[1:]]
    assert all(call.result() for call in others)
    crowd.links.heal(0)
    assert waiting.result()


def test_a_lost_reply_makes_no_second_member(crowd, path, eventually):
    members = barriers(crowd, path)
    assert members[0].enter(0) is False
    crowd.links.cut(0, "lost-reply")
    waiting = crowd.in_thread(members[0].enter, 20)
    eventually(lambda: not crowd.links.in_force(0))
    time.sleep(0.2)
    assert len(crowd.children(path)) == 1
    all_enter(crowd, members[1:])
    assert waiting.result()


def test_a_round_that_lost_a_session_on_the_way_in_may_have_counted_it(crowd, path, eventually):
    members = barriers(crowd, path)
    waiting = crowd.in_thread(members[0].enter, 20)
    eventually(lambda: len(crowd.children(path)) == 1)
    crowd.links.cut(0, "to-client")
    all_enter(crowd, members[1:])
    crowd.end_session(0)
    crowd.let_find_out(0)
    with pytest.raises(OutcomeUnknown, match="session was lost"):
        waiting.result()


def test_a_node_that_outlives_its_session_is_removed_by_the_next(crowd, path, eventually):
    """As one may whose end a leader told before it was deposed, so that nobody else knows of it."""
    barrier = DoubleBarrier(crowd[0], path, 2)
    waiting = crowd.in_thread(barrier.enter, 20)
    (lost,) = eventually(lambda: crowd.children(path))
    crowd.end_session(0)
    crowd.bystander.create(f"{path}/{lost}")
    crowd.let_find_out(0)
    eventually(lambda: len(crowd.children(path)) == 1 and crowd.children(path) != [lost])
    assert waiting.is_alive()
    other = crowd.in_thread(DoubleBarrier(crowd[1], path, 2).enter, 20)
    assert waiting.result()
    assert other.result()


def test_what_got_no_answer_is_carried_through_by_itself(crowd, path, eventually):
    members = barriers(crowd, path, grace=0.2)
    all_enter(crowd, members)
    crowd.links.cut(0, "black-hole")
    with pytest.raises(OutcomeUnknown, match="may be inside"):
        members[0].leave(0.1)
    assert members[0].enter(0.1) is False
    crowd.links.heal(0)
    assert all(call.result() for call in [crowd.in_thread(m.leave, 20) for m in members[1:]])
    eventually(lambda: crowd.children(path) == [])


def test_nobody_enters_twice_or_alone(crowd, path):
    alone = DoubleBarrier(crowd[0], path, 1)
    assert alone.enter(5)
    with pytest.raises(ValueError, match="leave first"):
        alone.enter()
    assert alone.leave(5)
    with pytest.raises(ValueError, match="at least one"):
        DoubleBarrier(crowd[0], path, 0)
    with pytest.raises(ValueError, match="not an absolute znode path"):
        DoubleBarrier(crowd[0], "here", 2)
