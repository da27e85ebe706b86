from rumpus.nights.comparing.trends import trends
from rumpus.nights.memory.evidence import Moments
from rumpus.nights.memory.store_rows import Tally

NIGHTS = [f"2026-11-{day:02}" for day in range(1, 26)]


def tally(night, subject, broken=0, *, runs=200, latency=None, role="run"):
    return Tally(
        night=night,
        subject=subject,
        role=role,
        outcomes={"violation": broken, "valid": runs - broken, "inconclusive": 5},
        figures={} if latency is None else {"latency": Moments.of([latency, latency * 1.01])},
    )


def test_what_is_worse_since_a_night_is_told_with_that_night():
    tallies = []
    for number, night in enumerate(NIGHTS):
        late = number >= 22
        tallies += [
            tally(night, "lock / fair, sim", 6 if late else 0),
            tally(night, "queue / fifo, sim", latency=15.0 if late else 10.0),
            tally(night, "election / fair, sim", 40 if late else 0, role="case"),
            tally(night, "view / kazoo, sim", 3),
        ]
    rate, latency = sorted(trends(NIGHTS, tallies), key=lambda each: each.subject)
    assert str(rate) == "failure rate of lock / fair, sim: from 0 % to 3 % since 2026-11-23"
    assert str(latency) == "latency of queue / fifo, sim: from 10 to 15.1 ms since 2026-11-23"
    assert rate.raised in ("2026-11-23", "2026-11-24")
    assert trends(NIGHTS, [each for each in tallies if each.night < "2026-11-23"]) == []


def test_batches_of_a_night_are_one_entry():
    half = [
        tally(night, "lock / fair, sim", number >= 24, runs=100)
        for number, night in enumerate(NIGHTS)
        for _ in range(2)
    ]
    assert trends(NIGHTS, half) == []
    (found,) = trends(NIGHTS, [*half, tally(NIGHTS[-1], "lock / fair, sim", 6, runs=0 + 6)])
    assert found.after == 8 / 206
