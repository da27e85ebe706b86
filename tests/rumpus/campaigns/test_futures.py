import msgspec

from rumpus.campaigns.futures import Futures
from tests.sampling import one_in


@one_in(3)
def test_a_failure_becomes_likely_when_its_fault_begins(deadlock, inline):
    settings = {**deadlock.settings, "time_limit": 1.5}
    case = msgspec.structs.replace(deadlock, settings=settings)
    futures = Futures(case, inline, futures=2)
    likelihood = futures.measure(3)
    (pause,) = case.plan.entries
    before, after = likelihood.step()
    assert before < pause.at <= after
    assert after - before <= 0.2
    assert futures.runs == 2 * len(likelihood.moments) - 1
    end = likelihood.moments[-1]
    assert (end.at, end.futures, end.failed) == (1.5, 1, 1)
    assert [moment.failed for moment in likelihood.moments if moment.at < pause.at] == [0] * sum(
        moment.at < pause.at for moment in likelihood.moments
    )


def test_without_the_fault_there_is_no_step(deadlock, inline):
    case = msgspec.structs.replace(
        deadlock, plan=msgspec.structs.replace(deadlock.plan, entries=())
    )
    assert Futures(case, inline, futures=2).measure(2).step() is None


@one_in(2)
def test_a_fault_just_before_the_end_of_the_load_is_seen(deadlock, inline):
    (pause,) = deadlock.plan.entries
    assert deadlock.settings["time_limit"] - pause.at <= 0.11
    before, after = Futures(deadlock, inline, futures=2).measure(2).step()
    assert before < pause.at <= after
