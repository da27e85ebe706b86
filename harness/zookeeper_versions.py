"""The versions of ZooKeeper that servers in containers can have, and where each comes from.

Each is the version of a Debian release (``libzookeeper-java``), installed on that release with its
Java, so no version is compiled or repackaged here.
"""

import re
from collections.abc import Mapping
from typing import Final

DEBIAN_RELEASES: Final[Mapping[str, str]] = {
    "3.4.13": "bullseye",
    "3.8.0": "bookworm",
    "3.9.3": "trixie",
    "3.9.6": "forky",
}
"""Version of ZooKeeper -> the Debian release that has it, oldest first."""

USUAL_VERSION: Final = "3.8.0"
"""The version of runs that name none; simulated servers behave as it does."""


class UnknownVersion(ValueError):  # noqa: N818 - says what is wrong with the name
    """There is no such version of ZooKeeper here; the message names those that there are."""


def find_version(text: str) -> str:
    """A version by its whole number or the beginning of it: the newest that fits.

    Args:
        text: such as ``3.8.0``, ``3.9`` (here 3.9.6) or ``3.4``.

    Raises:
        UnknownVersion: none fits.
    """
    if re.fullmatch(r"\d+(\.\d+)*", text):
        fitting = [each for each in DEBIAN_RELEASES if f"{each}.".startswith(f"{text}.")]
        if fitting:
            return fitting[-1]
    raise UnknownVersion(
        f"there is no ZooKeeper {text!r}: Debian's releases have {', '.join(DEBIAN_RELEASES)}, and "
        "the first numbers are enough, such as 3.9"
    )
