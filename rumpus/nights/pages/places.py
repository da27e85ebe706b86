"""Where the pages of nights lie, under the directory of the site: names that lead nowhere else."""

import hashlib
import re
from typing import Final

from rumpus.results.escapes import in_file_name

INDEX: Final = "index.html"
NIGHTS: Final = "nights.html"
FAILURES: Final = "failures.html"
COMPARE: Final = "compare.html"

_USUAL: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(\.[0-9]{1,6})?")


def night_place(name: str) -> str:
    """The path of a night's page. Names other than dates get a digest, so that each has its own."""
    if _USUAL.fullmatch(name):
        return f"nights/{name}.html"
    return f"nights/{in_file_name(name)[:40]}-{_digest(name)}.html"


def failure_place(identifier: str) -> str:
    """The path of a failure's page, by its identifier, which is hexadecimal digits."""
    return f"failures/{in_file_name(identifier)}.html"


def case_place(identifier: str) -> str:
    """The path of a failure's case, by its identifier."""
    return f"cases/{in_file_name(identifier)}.case.json"


def subject_place(key: str) -> str:
    """The path of the page of what is on trial, by its key."""
    return f"recipes/{_digest(key)}.html"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:10]
