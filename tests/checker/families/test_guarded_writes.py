import pytest

from rumpus.checker.families.guarded_writes import check_guarded_writes
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def stored(*writes):
    """Writes (token, life, at), one after the other, at server 0."""
    story = Recorded(2)
    for place, (token, life, at) in enumerate(writes):
        asked = {"server": 0, "token": token, "sequencer": "s"}
        story.add(10 * place, 0, "invoke", "store", asked)
        if at is None:
            story.add(10 * place + 1, 0, "fail", "store", error="refused")
        else:
            story.add(10 * place + 1, 0, "ok", "store", {"life": life, "at": at})
    return check_guarded_writes(laid_out(story.end(999).history()))


@pytest.mark.parametrize(
    "writes",
    [
        [(5, "x", 1), (6, "x", 2)],
        [(5, "x", 1), (5, "x", 2)],
        [(6, "x", 1), (5, "x", None)],
        [(6, "x", 2), (5, "x", 1)],  # the answers came in another order than the writes
        [(5, "x", 1), (6, "y", 1)],
    ],
)
def test_writes_in_the_order_of_the_holds_are_well(writes):
    if writes[0][2] == 2:  # such calls overlap
        story = Recorded(2)
        for process, (token, _, _) in enumerate(writes):
            story.add(0, process, "invoke", "store", {"server": 0, "token": token})
        for process, (_, life, at) in enumerate(writes):
            story.add(5 + process, process, "ok", "store", {"life": life, "at": at})
        assert not check_guarded_writes(laid_out(story.end(99).history())).anomalies
    else:
        assert not stored(*writes).anomalies


@pytest.mark.parametrize("lives", [("x", "x"), ("x", "y")])
def test_a_write_of_an_earlier_holder_after_one_of_a_later_is_stale(lives):
    result = stored((6, lives[0], 1), (5, lives[1], 2))
    (anomaly,) = result.anomalies
    assert anomaly.kind == "stale-request"
    assert "hold 5" in anomaly.description


def test_files_are_judged_by_their_generations():
    story = Recorded(2)
    for ms, token, version in ((0, 6, 1), (10, 5, 2)):
        story.add(ms, 0, "invoke", "publish", {"key": "a", "token": token, "data": "x"})
        story.add(ms + 1, 0, "ok", "publish", {"key": "a", "version": version})
    result = check_guarded_writes(laid_out(story.end(99).history()))
    assert [each.kind for each in result.anomalies] == ["stale-request"]
    assert result.stats == {"accepted": 2, "refused": 0}


def test_refusals_are_counted():
    assert stored((6, "x", 1), (5, "x", None)).stats == {"accepted": 1, "refused": 1}
