"""Copies of the installed kazoo with another version number, and code that can be told apart."""

import shutil
import zipfile
from pathlib import Path

import kazoo

INSTALLED = Path(kazoo.__file__).parent


def copied_kazoo(place, version="2.99.1", **replaced):
    """Copy kazoo to ``place/kazoo``.

    Args:
        place: the directory; made if need be. A neighbour is put there that must not be imported.
        version: what the copy says of itself.
        replaced: module (dots are ``__``) -> text and what stands in its place.
    """
    package = place / "kazoo"
    shutil.copytree(
        INSTALLED, package, ignore=shutil.ignore_patterns("tests", "testing", "__pycache__")
    )
    (place / "msgspec.py").write_text("raise ImportError('a neighbour of kazoo was imported')\n")
    replace_in(package / "version.py", kazoo.version.__version__, version)
    for module, (old, new) in replaced.items():
        replace_in(package / f"{module.replace('__', '/')}.py", old, new)
    return place


def replace_in(file, old, new):
    text = file.read_text()
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new))


NO_QUEUE = {
    "recipe__lock": ("predecessor = self._get_predecessor(node)", "predecessor = None"),
}
"""A lock that everybody has at once."""


def wheel(directory, name, version, files, requires=""):
    """Write a wheel that pip installs without an index.

    Args:
        directory: where.
        name: of the distribution.
        version: of the distribution.
        files: path in the wheel -> content.
        requires: another distribution that it needs.
    """
    directory.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if requires:
        metadata += f"Requires-Dist: {requires}\n"
    described = {
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, *described, f"{info}/RECORD"])
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in {**files, **described, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
