import msgspec

from rumpus.campaigns.futures import Futures


def test_a_failure_becomes_likely_when_its_fault_begins(deadlock, inline):
    settings = {**deadlock.settings, "time_limit": 1.5}
    case = msgspec.structs.replace(deadlock, settings=settings)
    futures = Futures(case, inline, futures=2)
    likelihood = futures.measure(3)
    (pause,) = case.plan.entries
    before, after = likelihood.step()
    assert before < pause.at <= after
    assert after - before <= 0.2
    assert futures.runs == 2 * len(likelihood.moments)
    assert [moment.failed for moment in likelihood.moments if moment.at < pause.at] == [0] * sum(
        moment.at < pause.at for moment in likelihood.moments
    )


def test_without_the_fault_there_is_no_step(deadlock, inline):
    case = msgspec.structs.replace(
        deadlock, plan=msgspec.structs.replace(deadlock.plan, entries=())
    )
    assert Futures(case, inline, futures=2).measure(2).step() is None
