"""What the pages of nights say: of ten nights that were made up, and of small stores."""

import re

import msgspec
import pytest

from docs.generators.ten_nights import make_nights
from rumpus.nights.memory.evidence import Estimate
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.charts import Point, Seen, figure_chart, rate_chart, sparkline
from rumpus.nights.pages.compare_data import compare_data
from rumpus.nights.pages.failure_model import failure_models
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.grid import columns, grid
from rumpus.nights.pages.night_model import night_model
from rumpus.nights.pages.site import Site
from rumpus.nights.pages.subject_model import subject_model, subject_pasts
from tests.rumpus.nights.conftest import DAY, failure, night, run


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    path = tmp_path_factory.mktemp("nights") / "nights.sqlite"
    with Store.opened(path, write=True) as store:
        make_nights(store)
    with Store.opened(path) as store:
        return gather(store)


def model_of(gathered, number):
    return night_model(gathered, gathered.nights[number])


def groups(model):
    return {each.kind.tag: [line.words for line in each.lines] for each in model.groups}


def told(model):
    return {tag for tag, lines in groups(model).items() if lines}


def fact(model, name):
    return next(each for each in model.facts if each.name == name)


def test_the_newest_night_says_what_is_new_still_there_stale_and_slower(gathered):
    model = model_of(gathered, -1)
    assert (model.state, model.symbol, model.before) == ("BROKEN", "✘", "2026-11-25")
    assert told(model) == {"new", "known", "stale", "worse", "trend", "expected"}
    worse = "3 slower or failing more often than before; 1 worse for some nights"
    assert model.sentence.endswith(worse)
    found = groups(model)
    assert found["new"] == ["lock / orders: split-brain of acquire, release [@orders-team]"]
    assert found["known"] == ["semaphore / kazoo: deadlock of acquire after partition"]
    assert found["stale"] == ["findings/19-read-lock-second-node"]
    assert "latency of lock / fair, sim" in found["worse"]
    lines = {line.words: line for each in model.groups for line in each.lines}
    assert found["trend"][0] == "failure rate of semaphore / kazoo, sim"
    assert lines[found["trend"][0]].detail == "from 2.5 % to 52 % since 2026-11-24"
    assert "since 2026-11-21; simulated" in lines[found["known"][0]].detail
    assert lines[found["stale"][0]].command.startswith("rumpus replay cases/")
    assert re.search(r"now .* ms: by a factor of 1\.", lines["latency of lock / fair, sim"].detail)
    pasts = subject_pasts(gathered)
    fair = subject_model(gathered, "lock / fair, sim", pasts["lock / fair, sim"])
    assert lines["latency of lock / fair, sim"].place == fair.place
    assert [name for name, _, _ in fair.figures] == [
        *("throughput", "latency", "latency-p99", "quorum")
    ]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, {"expected"}),
        (3, {"new", "known", "trouble", "expected"}),
        (4, {"new", "known", "blind", "gone", "expected"}),
        (5, {"known", "back", "expected"}),
        (6, {"known", "gone", "better", "missed", "expected"}),
        (7, {"known", "stale", "worse", "expected"}),
    ],
)
def test_each_of_the_nights_says_what_happened_in_it(gathered, number, expected):
    assert told(model_of(gathered, number)) == expected


def test_it_says_whether_it_was_really_tested(gathered):
    first, lost, blind = (model_of(gathered, number) for number in (0, 3, 4))
    assert first.state == "green"
    assert (fact(first, "runs").value, fact(first, "canaries").value) == ("366", "3 of 3")
    assert fact(first, "quorum").value == "86%"
    assert fact(first, "kinds of fault").value == "6"
    assert fact(lost, "tested nothing").value == "6"
    assert fact(lost, "tested nothing").bad
    assert fact(blind, "canaries").bad
    assert "election / untied-acknowledgement" in groups(blind)["blind"]


def test_the_grid_tells_new_known_and_expected_failures_apart(gathered):
    rows = {row.subject: row for row in grid(gathered)}
    semaphore = [cell.style for cell in rows["semaphore / kazoo, sim"].cells]
    assert semaphore == [*["ok"] * 4, "new", *["known"] * 5]
    assert {cell.style for cell in rows["double-barrier / kazoo, sim"].cells} == {"expected"}
    assert rows["lock / orders, docker"].cells[3].style == "lost"
    assert next(iter(rows)) in ("lock / orders, sim", "semaphore / kazoo, sim")
    assert [each.state for each in columns(gathered)] == ["green"] * 2 + ["BROKEN"] * 8


def test_a_failure_says_how_it_is_repeated_and_kept(gathered):
    models = failure_models(gathered)
    assert [each.state for each in models[:3]] == ["new", "still there", "expected"]
    new = models[0]
    assert new.repeat[-1].startswith("rumpus replay cases/lock-")
    assert new.keep[-1].startswith("pytest cases/lock-")
    assert "rumpus.replay(CASE).assert_not_reproduced()" in new.test
    assert new.story
    assert [each[0] for each in new.nights] == ["2026-11-26"]


def test_data_of_any_two_nights_are_counts_of_both(gathered):
    data = compare_data(gathered)
    place = [key for key, _ in data["subjects"]].index("lock / fair, sim")
    before, now = (data["runs"][number][place] for number in (-2, -1))
    assert before[:2] == now[:2] == [0, 40]
    latency = 2 + [name for name, _ in data["figures"]].index("latency")
    assert 1.4 < now[latency] / before[latency] < 1.8
    new = [words for words, _ in data["failures"]].index(
        "lock / orders: split-brain of acquire, release"
    )
    assert new in data["shown"][-1]
    assert new not in data["shown"][-2]
    assert msgspec.json.encode(data)


def test_an_empty_store_has_a_first_page(store):
    pages = {page.place: page.make() for page in Site(gather(store)).pages()}
    assert "No nights yet" in pages["index.html"]
    assert set(pages) == {"index.html", "nights.html", "failures.html", "compare.html"}


def test_a_night_that_goes_on_is_not_green(store):
    store.begin_night(night(1))
    store.note_failure(failure())
    store.note_run(night(1).name, run(outcome="violation", failures=(failure().id,)))
    gathered = gather(store)
    model = model_of(gathered, 0)
    assert (model.state, model.tone) == ("not ended", "unknown")
    assert told(model) == {"new"}
    pages = {page.place: page.make() for page in Site(gathered).pages()}
    assert "is not ended" in pages["index.html"]
    assert "No case of it was kept" in pages[f"failures/{failure().id}.html"]


def test_a_night_is_compared_with_the_last_of_its_branch(store):
    for number, branch in enumerate(["main", "topic", "main", "other"], start=1):
        store.begin_night(night(number, branch=branch, ended=number * DAY + 1))
    gathered = gather(store)
    assert [model_of(gathered, number).before[-1:] for number in range(4)] == ["", "1", "1", "3"]


def test_where_all_that_was_run_was_too_little_it_is_said(store):
    store.begin_night(night(1, ended=2 * DAY))
    store.note_run(night(1).name, run(outcome="inconclusive"))
    model = model_of(gather(store), 0)
    assert groups(model)["open"] == ["lock / fair, sim"]
    assert fact(model, "kinds of fault").bad


def test_pictures_say_what_they_show():
    seen = [Seen("a", 0, 10), Seen("b", 2, 10), Seen("c", 0, 0)]
    small = sparkline(seen, "<it>")
    assert "&lt;it&gt;: seen in 1 of the 2 nights that looked for it" in small
    assert "b: 2 of 10 runs" in rate_chart(seen, "it")
    assert figure_chart([Point("a", None)], "ms", "it") is None
    chart = figure_chart([Point("a", Estimate(5.0, 0.0, float("inf")))], "ms", "it")
    assert "a: 5 ms" in chart
    assert "inf" not in chart
    assert "nan" not in chart
