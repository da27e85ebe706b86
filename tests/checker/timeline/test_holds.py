from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.recorded import MS, Recorded

WORDS = Words()


def holds(recorded, **kwargs):
    return extract_holds(recorded.history(**kwargs), WORDS)


def beliefs(recorded, **kwargs):
    return [[(a / MS, b / MS) for a, b in hold.beliefs] for hold in holds(recorded, **kwargs)]


def test_belief_lasts_from_the_return_of_acquire_to_the_call_of_release():
    recorded = Recorded().acquire(1, 2, 0, token=7, node="/l/x").release(5, 6, 0).end(9)
    (hold,) = holds(recorded)
    assert hold.beliefs == [(2 * MS, 5 * MS)]
    assert (hold.client, hold.token, hold.node, hold.session) == (0, 7, "/l/x", "0x1")
    assert hold.release_called == 5 * MS


def test_an_acquire_that_failed_or_is_unknown_is_no_hold():
    recorded = Recorded().add(1, 0, "invoke", "acquire").add(2, 0, "fail", "acquire")
    recorded.add(3, 1, "invoke", "acquire").add(4, 1, "info", "acquire")
    assert holds(recorded.add(5, 2, "invoke", "acquire").end(9)) == []


def test_belief_ends_with_doubt_and_comes_back_with_belief():
    recorded = Recorded().acquire(1, 2, 0).session(4, 0, "doubts").session(6, 0, "believes")
    assert beliefs(recorded.release(8, 9, 0).end(10)) == [[(2, 4), (6, 8)]]


def test_belief_does_not_come_back_after_the_call_of_release():
    recorded = Recorded().acquire(1, 2, 0).add(4, 0, "invoke", "release")
    recorded.session(5, 0, "believes").add(6, 0, "info", "release")
    assert beliefs(recorded.end(9)) == [[(2, 4)]]


def test_belief_ends_with_the_process():
    assert beliefs(Recorded().acquire(1, 2, 0).session(5, 0, "exited").end(9)) == [[(2, 5)]]


def test_belief_ends_with_the_process_even_if_its_number_had_been_retired():
    recorded = Recorded().acquire(1, 2, 0).add(3, 0, "invoke", "work").add(4, 0, "info", "work")
    assert beliefs(recorded.session(5, 3, "exited").end(9)) == [[(2, 5)]]


def test_the_end_of_a_process_ends_no_other_clients_belief():
    recorded = Recorded().acquire(1, 2, 0).session(3, 1, "exited").release(5, 6, 0)
    assert beliefs(recorded.end(9)) == [[(2, 5)]]


def test_only_pauses_that_touch_the_hold_are_its_own():
    recorded = Recorded().session(1, 0, "paused").session(2, 0, "resumed")
    recorded.add(3, 0, "invoke", "acquire").session(4, 0, "paused").session(5, 0, "resumed")
    recorded.add(6, 0, "ok", "acquire", {"node": "/l/x"}).release(8, 9, 0)
    recorded.session(10, 0, "paused").session(11, 0, "resumed")
    (hold,) = holds(recorded.end(12))
    assert hold.pauses == [(4 * MS, 5 * MS)]


def test_a_paused_process_goes_on_believing_and_its_pause_is_known():
    recorded = Recorded().acquire(1, 2, 0).session(3, 0, "paused").session(7, 0, "resumed")
    (hold,) = holds(recorded.session(8, 0, "doubts").end(9))
    assert hold.beliefs == [(2 * MS, 8 * MS)]
    assert hold.pauses == [(3 * MS, 7 * MS)]


def test_a_belief_that_ends_by_itself_ends_then_even_in_a_frozen_process():
    recorded = Recorded().acquire(1, 2, 0, until=6 * MS).session(3, 0, "paused")
    recorded.session(8, 0, "resumed").session(8.5, 0, "doubts")
    assert beliefs(recorded.release(9, 10, 0).end(11)) == [[(2, 6)]]


def test_a_belief_that_is_renewed_goes_on():
    recorded = Recorded().acquire(1, 2, 0, until=6 * MS).session(5, 0, "believes", until=9 * MS)
    assert beliefs(recorded.end(20)) == [[(2, 9)]]


def test_a_belief_that_comes_back_after_its_end_is_another():
    recorded = Recorded().acquire(1, 2, 0, until=6 * MS).session(8, 0, "believes", until=12 * MS)
    assert beliefs(recorded.release(10, 11, 0).end(20)) == [[(2, 6), (8, 10)]]


def test_a_renewal_without_an_end_lasts():
    recorded = Recorded().acquire(1, 2, 0, until=6 * MS).session(5, 0, "believes")
    assert beliefs(recorded.release(10, 11, 0).end(20)) == [[(2, 10)]]


def test_an_open_belief_reaches_to_the_end_of_a_whole_history():
    assert beliefs(Recorded().acquire(1, 2, 0).end(9)) == [[(2, 9)]]


def test_in_a_cut_off_history_it_reaches_to_the_last_word_of_its_process():
    recorded = Recorded().acquire(1, 2, 0).session(4, 0, "connected").acquire(5, 6, 1)
    assert beliefs(recorded, truncated=True) == [[(2, 4)], [(6, 6)]]


def test_a_reentrant_hold_lasts_until_its_outermost_release():
    recorded = Recorded().acquire(1, 2, 0, node="/l/x").acquire(3, 4, 0, node="/l/x")
    recorded.release(5, 6, 0).release(7, 8, 0)
    assert beliefs(recorded.end(9)) == [[(2, 7)]]


def test_a_grant_by_another_node_is_another_hold():
    recorded = Recorded().acquire(1, 2, 0, node="/l/x").acquire(3, 4, 0, node="/l/y")
    assert beliefs(recorded.release(5, 6, 0).end(9)) == [[(2, 4)], [(4, 5)]]


def test_actions_belong_to_the_hold_of_their_process():
    recorded = Recorded().acquire(1, 2, 0).act(3, 0).release(4, 5, 0).act(6, 0).acquire(7, 8, 0)
    first, second = holds(recorded.act(9, 0).end(10))
    assert [act.time / MS for act in first.acts] == [3, 6]
    assert [act.time / MS for act in second.acts] == [9]


def test_a_client_that_goes_on_as_another_process_is_the_same_holder():
    """Entering again had an unknown outcome; c0 goes on as process 3 and lets go."""
    recorded = Recorded().acquire(1, 2, 0, node="/l/x", token=7)
    recorded.add(3, 0, "invoke", "acquire").add(4, 0, "info", "acquire")
    recorded.session(5, 3, "doubts").session(6, 3, "believes").act(7, 3)
    recorded.release(8, 9, 3).acquire(10, 11, 1, node="/l/y", token=8)
    first, second = holds(recorded.end(12))
    assert [(a / MS, b / MS) for a, b in first.beliefs] == [(2, 5), (6, 8)]
    assert (len(first.acts), first.released, second.client) == (1, True, 1)


def test_the_same_path_made_anew_is_another_hold():
    """All contenders of an unfair lock make one path: the token tells one grant from the next."""
    recorded = Recorded().acquire(1, 2, 0, node="/l", token=7)
    recorded.acquire(5, 6, 0, node="/l", token=8).release(7, 8, 0)
    assert beliefs(recorded.end(9)) == [[(2, 6)], [(6, 7)]]
