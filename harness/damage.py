"""Damage to the files of a server, as broken disks and people do it."""

from collections.abc import Mapping
from random import Random
from typing import Literal, NamedTuple

Damage = Literal["wiped", "cut", "flipped"]
"""``wiped``: all transaction logs, snapshots and epochs are gone. ``cut``: the end of the newest
log is gone, a random part of its records. ``flipped``: a random bit of a log or snapshot is another
one."""


class Damaged(NamedTuple):
    """What becomes of a server's files.

    Attributes:
        changes: path -> the new content; None: the file is gone.
        words: what was done.
    """

    changes: dict[str, bytes | None]
    words: str


def damaged(files: Mapping[str, bytes], damage: Damage, random: Random) -> Damaged:
    """Damage files.

    Args:
        files: path -> content of the files in a server's ``version-2`` folders.
        damage: what is done to them.
        random: the place is drawn from it.
    """
    if damage == "wiped":
        return Damaged(dict.fromkeys(files), f"{len(files)} files are gone")
    # Logs end in zeros, which servers allocate ahead: nothing reads them.
    written = {path: len(data.rstrip(b"\0")) for path, data in files.items()}
    logs = sorted(
        (path for path in files if _name(path).startswith("log.") and written[path]),
        key=lambda path: int(_name(path)[4:], 16),
    )
    if damage == "cut":
        if not logs:
            return Damaged({}, "there is no log to cut")
        path = logs[-1]
        at = random.randint(written[path] // 2, written[path])
        return Damaged({path: files[path][:at]}, f"{path} is cut at byte {at} of {written[path]}")
    found = [*logs, *sorted(path for path in files if "snapshot." in path and written[path])]
    if not found:
        return Damaged({}, "there is no log or snapshot to change")
    path = random.choice(found)
    bit = random.randrange(8 * written[path])
    changed = bytearray(files[path])
    changed[bit // 8] ^= 1 << bit % 8
    return Damaged({path: bytes(changed)}, f"bit {bit} of {path} is flipped")


def _name(path: str) -> str:
    return path.rpartition("/")[2]
