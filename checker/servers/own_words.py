"""What a server says of itself: its output (``node.log``) and its counters (``mntr.txt``).

Three things there are in no log or snapshot. The first two are proofs:

- ``DataTree`` compares the digest of its tree with the leader's after each transaction. It prints
  the first difference since the server's start with its transaction, later ones now and then, and
  counts all (``zk_digest_mismatches_count``). ZooKeeper 3.6 and later.
- ``LearnerHandler``, in a leader, prints the last zxid of a server that joins, the last one that
  the leader has committed, and to which zxid it lets this server truncate its log.
- A critical thread that ends with an exception prints it, and the server starts anew.

The files are untrusted (`checker.untrusted_file`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rumpus.checker.untrusted_file import read_lines, read_regular

_LARGEST_OUTPUT = 256 << 20
_LARGEST_ANSWER = 1 << 20
_DIFFERENCE = re.compile(
    rb"(?:First digest mismatch on txn: -?\d{1,20},-?\d{1,20},|Digests are not matching\. "
    rb"Value is Zxid\. Value:)(\d{1,19})\b"
)
_COUNT = re.compile(rb"^zk_digest_mismatches_count\t(\d{1,15})$", re.MULTILINE)
# Each learner has a thread of the leader's, named by the learner's address. The version before 3.5
# says Follower.
_JOINS = re.compile(
    rb"\[LearnerHandler-([^\]]{1,200}?):[^:\]]{1,200}\] - Synchronizing with (?:Learner|Follower) "
    rb"sid: ?(\d{1,20}) maxCommittedLog=0x([0-9a-f]{1,16}) [^\n]{0,400}?"
    rb"peerLastZxid=0x([0-9a-f]{1,16})\b"
    rb"|\[LearnerHandler-([^\]]{1,200}?):[^:\]]{1,200}\] - Sending TRUNC zxid=0x([0-9a-f]{1,16})\b"
)


_SEVERE = b"Severe unrecoverable error"


class Truncation(NamedTuple):
    """A leader lets a server drop what it has logged after ``to``, up to ``last``.

    ``committed`` is the last zxid that the leader had committed. What is not committed yet it sends
    again after the truncation.
    """

    server: int
    last: int
    to: int
    committed: int


class OwnWords(NamedTuple):
    """What one server says of itself.

    Attributes:
        differences: zxids after which its tree was not the leader's, in the order of its output.
        counted: how many such differences there were since its last start, when it was asked.
        truncations: which it ordered while it led.
        severe: how many of its threads ended with an exception.
    """

    differences: tuple[int, ...] = ()
    counted: int = 0
    truncations: tuple[Truncation, ...] = ()
    severe: int = 0


def read_own_words(directory: Path) -> OwnWords:
    """Read what a server printed and counted; files that are missing say nothing.

    Raises:
        OSError, UnfitFile: a file cannot be read, or is none.
    """
    output, answer = directory / "node.log", directory / "mntr.txt"
    printed = read_lines(output, _LARGEST_OUTPUT) if output.exists() else b""
    counters = read_regular(answer, _LARGEST_ANSWER) if answer.exists() else b""
    count = _COUNT.search(counters)
    return OwnWords(
        tuple(dict.fromkeys(int(zxid) for zxid in _DIFFERENCE.findall(printed))),
        int(count[1]) if count else 0,
        tuple(_truncations(printed)),
        printed.count(_SEVERE),
    )


def _truncations(printed: bytes) -> Iterator[Truncation]:
    joining: dict[bytes, tuple[int, int, int]] = {}
    for found in _JOINS.finditer(printed):
        if found[2] is not None:
            joining[found[1]] = int(found[2]), int(found[3], 16), int(found[4], 16)
        elif found[5] in joining:
            server, committed, last = joining.pop(found[5])
            yield Truncation(server, last, int(found[6], 16), committed)
