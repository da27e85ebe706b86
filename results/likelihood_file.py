"""``likelihood.json``: when a run's failure became likely, in the run's directory."""

from pathlib import Path
from typing import Final

import msgspec

from rumpus.results.atomic_file import write_atomically
from rumpus.results.likelihood import Likelihood
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import read_regular

_LARGEST: Final = 1 << 20


def write_likelihood(path: Path, likelihood: Likelihood) -> None:
    """Write the file.

    Raises:
        StoreError: it cannot be written.
    """
    write_atomically(path, msgspec.json.format(msgspec.json.encode(likelihood)) + b"\n")


def read_likelihood(path: Path) -> Likelihood | None:
    """Read the file; None if there is none.

    Raises:
        UnreadableRun: it is malformed.
    """
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_regular(path, "read it", _LARGEST), type=Likelihood)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableRun(path, f"malformed ({error})", "remove it") from error
