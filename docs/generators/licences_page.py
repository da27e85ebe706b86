"""The page of licences: of each package that a lock names, as the package itself says.

``make lock`` makes it, as it installs all of them.
"""

from pathlib import Path
from typing import Final

from docs.generators.locked_packages import LOCKS, licence, locked, users
from docs.generators.marked_page import table_row

PAGE: Final = Path(__file__).resolve().parents[1] / "reference" / "licences.md"

_HEAD: Final = """\
# Licences

rumpus is under the [Apache License 2.0](../../LICENSE). Its wheel and its source archive have only
code of its own: no file of a dependency is in them, so there is none whose licence asks for a
`NOTICE`. `docs/upstream`, in the source archive, quotes lines of kazoo (Apache License 2.0, without
a `NOTICE`) and of aiozk (MIT). Images of servers and clients are built from Debian's packages on
the host that runs them, and are not distributed.

`make dist` writes beside the archives a bill of materials, `rumpus-<version>.cdx.json` (CycloneDX
1.6): what users install, in the versions of `requirements.lock` that the tests ran with.

The tables have every package that is installed, directly or by another, with the licence that it
states. `make lock` brings them up to date.

## What users install
"""


def licences_page() -> str:
    """The page.

    Raises:
        ValueError: a package is not installed, or does not state a licence.
    """
    names = sorted({each.name for lock in LOCKS for each in locked(lock)})
    of_users = users()
    lines = [_HEAD, "| package | licence | comes with |", "|---|---|---|"]
    for name in names:
        if name in of_users:
            extras = sorted(of_users[name])
            comes = "always" if "" in extras else ", ".join(f"`{each}`" for each in extras)
            lines.append(table_row((name, licence(name), comes)))
    lines += ["", "## What only developers install", "", "| package | licence |", "|---|---|"]
    lines += [table_row((name, licence(name))) for name in names if name not in of_users]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(licences_page(), encoding="utf-8")
