from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.timeline.calm import calm_time, longest_calm

TIMES = st.integers(0, 60)


@given(st.lists(st.tuples(TIMES, TIMES).map(sorted), max_size=6), TIMES, TIMES)
def test_calm_time_counts_each_moment_that_no_span_touches(spans, one, other):
    since, until = sorted((one, other))
    spans = sorted(map(tuple, spans))
    merged = []
    for start, end in spans:  # spans that touch are one, as those of a timeline
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    calm = [not any(start <= at < end for start, end in merged) for at in range(since, until)]
    assert calm_time(merged, since, until) == sum(calm)
    start, end = longest_calm(merged, since, until)
    assert end - start <= sum(calm)
