from rumpus.checker.timeline.unasked_holds import unasked_holds
from tests.checker.recorded import MS, Recorded


def beliefs(recorded):
    return [
        (hold.client, *(time // MS for span in hold.beliefs for time in span))
        for hold in unasked_holds(recorded.history())
    ]


def test_a_belief_lasts_until_the_doubt_the_death_or_the_end():
    recorded = Recorded().session(1, 0, "believes").session(3, 3, "doubts")
    recorded.session(4, 1, "believes").session(6, 1, "exited").session(7, 2, "believes").end(9)
    assert beliefs(recorded) == [(0, 1, 3), (1, 4, 6), (2, 7, 9)]


def test_a_belief_that_is_not_renewed_ends_by_itself():
    recorded = Recorded().session(1, 0, "believes", until=5 * MS)
    recorded.session(3, 0, "believes", until=8 * MS).session(20, 0, "believes", until=30 * MS)
    assert beliefs(recorded.end(25)) == [(0, 1, 8), (0, 20, 25)]
    assert beliefs(Recorded().session(1, 0, "believes", until=5 * MS).session(9, 0, "doubts")) == [
        (0, 1, 5)
    ]


def test_a_pause_inside_of_a_belief_is_noted():
    recorded = Recorded().session(1, 0, "believes").session(2, 0, "paused").session(4, 0, "resumed")
    (hold,) = unasked_holds(recorded.session(6, 0, "doubts").history())
    assert hold.pauses == [(2 * MS, 4 * MS)]


def test_a_session_that_was_connected_again_afterwards_had_not_ended():
    recorded = Recorded().session(1, 0, "believes", session="0x1").session(3, 0, "doubts")
    assert [hold.released for hold in unasked_holds(recorded.history())] == [False]
    recorded.session(4, 0, "connected", session="0x1")
    assert [hold.released for hold in unasked_holds(recorded.history())] == [True]
