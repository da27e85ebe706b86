"""The same seed, mode and code give the same world to the last byte, whatever surrounds it."""

import gc

import pytest

from rumpus.simulation.kernel.preemption import MODES
from tests.sampling import sampled
from tests.simulation.interpreters import OTHERS, PLAIN, printed
from tests.simulation.lock_world import digest_of_a_world

DIGESTS = """
from rumpus.simulation.kernel.preemption import MODES
from tests.simulation.lock_world import digest_of_a_world
print(*[digest_of_a_world(4, mode) for mode in MODES])
"""

DIGESTS_LATER = """
from rumpus.simulation.kernel.preemption import MODES
from tests.simulation.lock_world import digest_of_a_world
digest_of_a_world(0, "blocking", seconds=3)
print(*[digest_of_a_world(4, mode) for mode in reversed(MODES)][::-1])
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The digests of one seed, by mode, of worlds that nothing came before."""
    digests = printed(PLAIN, DIGESTS, tmp_path_factory.mktemp("plain"))
    return dict(zip(MODES, digests, strict=True))


def test_every_mode_makes_another_world(plain):
    assert len(set(plain.values())) == len(MODES)


@sampled("name", OTHERS, of=3)
def test_the_interpreter_does_not_matter_nor_what_it_did_before(plain, name, tmp_path):
    assert printed(OTHERS[name], DIGESTS_LATER, tmp_path) == list(plain.values())


@sampled("mode", MODES, of=4)
def test_a_process_full_of_other_things_does_not_matter(plain, mode):
    thresholds = gc.get_threshold()
    gc.set_threshold(50, 2, 2)
    try:
        assert digest_of_a_world(4, mode) == plain[mode]
    finally:
        gc.set_threshold(*thresholds)


def test_another_seed_makes_another_world(plain):
    assert digest_of_a_world(5, "blocking") != plain["blocking"]
