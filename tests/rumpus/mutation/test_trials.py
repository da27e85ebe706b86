from pathlib import Path

import pytest

from rumpus.campaigns.tasks import Attempt, processes
from rumpus.exit_codes import UNDECIDED
from rumpus.mutation.trials import Piece, Subject, shown_of
from rumpus.project_names import names_here


def subject(executor: object, place: Path, **given: object) -> Subject:
    settings = names_here().settings_of(
        {
            "argv": (),
            "workload": "lock",
            "recipe": "fair",
            "ensemble": "sim",
            "seed": 0,
            "fixed": (),
            **given,
        }
    )
    return Subject(settings, [], executor, place)  # type: ignore[arg-type]  # an executor


def test_a_piece_that_takes_too_long_is_given_up_and_the_next_one_is_not(
    tmp_path: Path,
) -> None:
    with processes(1) as executor:
        endless = subject(executor, tmp_path, time_limit=600.0)
        shown = endless.perform(Piece("usual", 0, 0), limit=0.2)
        assert shown.failed[0] == "it takes more than 0 s of processor time"
        quick = subject(executor, tmp_path, time_limit=8.0)
        assert quick.perform(Piece("usual", 0, 0)).failed == ()


def test_a_run_that_was_interrupted_shows_nothing() -> None:

    with pytest.raises(RuntimeError, match="interrupted"):
        shown_of([Attempt(error="interrupted", exit_code=UNDECIDED)])
