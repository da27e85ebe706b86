"""The digest of a whole simulated run is a function of seed, options and code; and what if not."""

import inspect

import pytest

from rumpus.nemesis.registry import SOUND
from rumpus.simulation.kernel.preemption import MODES
from rumpus.simulation.loader.refusals import Forbidden
from tests.harness import shared_leaks
from tests.sampling import one_in, sampled
from tests.simulation.interpreters import OTHERS, PLAIN, printed

RUNS = [
    *({"workload": "lock", "preemption": mode, "seconds": 6.0} for mode in MODES),
    {"workload": "election", "kinds": SOUND, "seconds": 16.0},
]

PRINT = """
import sys
from pathlib import Path
from tests.harness.simulated_runs import SimulatedRuns
from tests.harness.test_sim_determinism import RUNS
simulate = SimulatedRuns(Path(sys.argv[1]))
"""

DIGESTS = f"""{PRINT}
print(*[simulate(11, **run)[0].digest for run in RUNS])
"""

DIGESTS_LATER = f"""{PRINT}
simulate(0, seconds=2.0, kinds=("kill",))
print(*[simulate(11, **run)[0].digest for run in reversed(RUNS)][::-1])
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The digests of ``RUNS``, in a process that did nothing before."""
    place = tmp_path_factory.mktemp("plain")
    return printed(PLAIN, DIGESTS, place, place)


def test_every_mode_of_preemption_makes_another_run(plain):
    assert len(set(plain)) == len(RUNS)


@sampled("name", OTHERS, of=3)
def test_neither_the_interpreter_matters_nor_what_it_did_before(plain, name, tmp_path):
    assert printed(OTHERS[name], DIGESTS_LATER, tmp_path, tmp_path) == plain


@one_in(2)
def test_a_process_full_of_other_things_does_not_matter(plain, simulate):
    assert [simulate(11, **run)[0].digest for run in RUNS] == plain


def leaking(simulate, leak):
    """The digest of a short run whose clients are leaky."""
    simulated, _, _ = simulate(
        1, build=f"tests.harness.leaky_client:{leak}", seconds=1.0, kinds=(), preemption="blocking"
    )
    return simulated.digest


@sampled(
    ("leak", "real"),
    [
        ("from_clock", "time.perf_counter"),
        ("from_system", "os.urandom"),
        ("from_uuid", "uuid.uuid4"),
        ("from_thread", "threading.Thread.start"),
    ],
    of=4,
)
@pytest.mark.usefixtures("leaks_are_shared")
def test_the_guard_names_who_uses_something_real_and_where(simulate, leak, real):
    with pytest.raises(Forbidden) as caught:
        leaking(simulate, leak)
    function = getattr(shared_leaks, leak)
    first = function.__code__.co_firstlineno
    line = first + next(
        number
        for number, text in enumerate(inspect.getsource(function).splitlines())
        if real.split(".")[1] in text and "def" not in text
    )
    message = str(caught.value)
    assert message.startswith(f"tests.harness.shared_leaks.{leak} ({shared_leaks.__file__}:{line})")
    assert f"calls the real {real} " in message


@sampled("leak", ["by_address", "from_clock_imported_by_name"], of=2)
@pytest.mark.usefixtures("leaks_are_shared")
def test_what_no_guard_sees_shows_in_the_digests(simulate, leak):
    first = leaking(simulate, leak)
    assert any(leaking(simulate, leak) != first for _ in range(3))


@pytest.mark.usefixtures("leaks_are_shared")
def test_a_shared_set_of_which_only_the_size_is_used_does_no_harm(simulate, monkeypatch):
    digests = set()
    for _ in range(2):
        monkeypatch.setattr(shared_leaks, "_kept", [])
        digests.add(leaking(simulate, "none"))
    assert len(digests) == 1
