"""Two-phase commits."""

from collections.abc import Mapping
from typing import Final

from recipes.faulty.two_phase_commit import (
    AbortsAloneCommit,
    OneByOneCommit,
    OverwritesCommit,
    PiecemealCommit,
)
from recipes.two_phase_commit import CoordinatedCommit, PeerCommit, TwoPhaseCommit

TWO_PHASE_COMMITS: Final[Mapping[str, type[TwoPhaseCommit]]] = {
    "peer": PeerCommit,
    "coordinated": CoordinatedCommit,
    "piecemeal": PiecemealCommit,
    "one-by-one": OneByOneCommit,
    "aborts-alone": AbortsAloneCommit,
    "overwrites": OverwritesCommit,
}
