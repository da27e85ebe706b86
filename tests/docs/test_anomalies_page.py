"""docs/reference/anomalies.md has every kind of anomaly, with an example that shows just that."""

from pathlib import Path

from docs.generators.anomalies_page import REMEDIES, anomalies_page
from docs.generators.anomaly_examples import RUNS, examples, story_of
from docs.generators.claims_page import perform
from docs.generators.story_drawing import conclusion, drawing
from rumpus.checker.check import all_kinds
from tests.sampling import sampled

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "anomalies.md"
WITHOUT_EXAMPLE = {
    "diverged-servers",
    "fenced",
    "latent-divergence",
    "sequence-regression",
}
"""Kinds that no kept case shows; a new kind must not be added here, but have a case."""


def test_the_page_is_up_to_date():
    remedy = "python -m docs.generators.anomalies_page > docs/reference/anomalies.md"
    assert anomalies_page(all_kinds()) == PAGE.read_text(encoding="utf-8"), remedy


def test_for_every_kind_it_says_what_to_do_and_for_no_other():
    assert REMEDIES.keys() == all_kinds().keys()


def test_examples_are_of_the_kind_and_none_is_missing():
    shown = examples()
    assert all_kinds().keys() - shown.keys() == WITHOUT_EXAMPLE
    for kind in all_kinds().keys() & shown.keys():
        assert conclusion(shown[kind].story).startswith(f"{kind}: ")


@sampled("kind", RUNS, of=4)
def test_a_run_tells_the_story_that_is_drawn(kind):
    remedy = "python -m docs.generators.anomaly_examples"
    assert story_of(perform(RUNS[kind])) == list(examples()[kind].story), remedy


STORY = [
    "    0.500 s  c0 acquire: ok session='0x1', token=7, node='/a/b",
    "    0.600 s  c0 is frozen",
    "    0.700 s  fault: client-pause c0",
    "    2.700 s  c0 has no session any more: 1 is deleted",
    "    2.800 s  c10 acquire: ok token=8",
    "    2.900 s  c10 calls work: ok",
    "    3.000 s  c0 calls release",
    "    3.100 s  c10 calls release",
    "so: split-brain: both",
]


def test_holds_are_heavy_and_frozen_processes_dotted():
    assert drawing(STORY).splitlines() == [
        " time    c0  c10",
        "0.500 s  ●   │    c0 acquire: ok token=7",
        "0.600 s  ●   │    c0 is frozen",
        "0.700 s  !   │    fault: client-pause c0",
        "2.700 s  ○   │    c0 has no session any more: 1 is deleted",
        "2.800 s  ┊   ●    c10 acquire: ok token=8",
        "2.900 s  ┊   ●    c10 calls work: ok",
        "3.000 s  ●   ┃    c0 calls release",
        "3.100 s  │   ●    c10 calls release",
    ]
