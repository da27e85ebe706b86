"""The packages that the locks name: version, hashes, licence, and what each of them needs."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[2]
LOCKS: Final = ("requirements.lock", "requirements-release.lock")
OF_DEVELOPERS: Final = frozenset({"dev", "docs", "release"})
"""Extras that only developers install. Others belong to users."""

ELSEWHERE: Final = {"async-timeout": "Apache 2"}
"""Licences of what is installed only on an older Python 3.11, by name."""

_PLACES: Final = [
    {"python_version": full[:4], "python_full_version": full, "implementation_name": "cpython"}
    | {"platform_python_implementation": "CPython", "sys_platform": "linux", "os_name": "posix"}
    for full in ("3.11.0", "3.11.4", "3.11.9", "3.12.0")
]
"""Where rumpus may be installed, as markers see it."""


class LockedPackage(NamedTuple):
    """A package as a lock has it; ``hashes`` are SHA-256 of all its files, in hexadecimal."""

    name: str
    version: str
    hashes: tuple[str, ...]


def locked(lock: str) -> list[LockedPackage]:
    """What a lock names for Linux; several entries if a version depends on that of Python."""
    entries = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = []
    for entry in entries:
        if not entry.startswith("#"):
            asked = Requirement(entry.partition("--hash")[0])
            hashes = tuple(re.findall(r"sha256:([0-9a-f]{64})", entry))
            if asked.marker is None or any(asked.marker.evaluate(place) for place in _PLACES):
                version = str(asked.specifier).removeprefix("==")
                found.append(LockedPackage(str(canonicalize_name(asked.name)), version, hashes))
    return found


def licence(name: str) -> str:
    """What an installed package says of its licence: an SPDX expression if it has one.

    Raises:
        ValueError: it is not installed here and `ELSEWHERE` does not know it, or it says nothing.
    """
    try:
        told = distribution(name).metadata
    except PackageNotFoundError:
        if name not in ELSEWHERE:
            raise ValueError(f"{name} is not installed: make .venv/ready, make lock") from None
        return ELSEWHERE[name]
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in told.get_all("Classifier") or []
        if each.startswith("License ::") and each != "License :: OSI Approved"
    ]
    (words, *_) = told.get_all("License") or [""]
    found = expression(name) or ", ".join(classifiers) or words.strip().partition("\n")[0]
    if not found:
        raise ValueError(f"{name} does not say what its licence is")
    return found


def expression(name: str) -> str:
    """The SPDX expression of an installed package's licence; empty if it does not state one."""
    (found, *_) = distribution(name).metadata.get_all("License-Expression") or [""]
    return str(found)


def users() -> dict[str, set[str]]:
    """What users install: name -> the extras for which it is there, and ``""`` if always."""
    project = _project()
    asked = {"": project["dependencies"]} | {
        extra: needed
        for extra, needed in project["optional-dependencies"].items()
        if extra not in OF_DEVELOPERS
    }
    found: dict[str, set[str]] = {}
    for extra, needed in asked.items():
        for name in _closure(map(Requirement, needed)):
            found.setdefault(name, set()).add(extra)
    return found


def needs(name: str) -> list[str]:
    """The packages that an installed one needs itself, sorted."""
    asked = map(Requirement, distribution(name).requires or [])
    return sorted({str(canonicalize_name(each.name)) for each in asked if _applies(each, "")})


def runtime() -> list[str]:
    """The packages that rumpus itself needs without extras, sorted."""
    return sorted(str(canonicalize_name(Requirement(e).name)) for e in _project()["dependencies"])


def _closure(asked: Iterable[Requirement]) -> set[str]:
    """All that these need, with themselves."""
    found: set[str] = set()
    waiting = [(each, "") for each in asked]
    while waiting:
        requirement, extra = waiting.pop()
        name = str(canonicalize_name(requirement.name))
        if not _applies(requirement, extra) or (name in found and not requirement.extras):
            continue
        found.add(name)
        further = map(Requirement, distribution(name).requires or [])
        extras = ["", *sorted(requirement.extras)]
        waiting += [(each, wanted) for each in further for wanted in extras]
    return found


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _project() -> Mapping[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["project"])
