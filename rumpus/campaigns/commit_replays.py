"""Replays cases with the code of a commit: in a worktree of its own, by a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rumpus.campaigns.bisecting import Ran
from rumpus.campaigns.case import Case, save_case
from rumpus.campaigns.replaying import ENDING
from rumpus.campaigns.run_process import program_for
from rumpus.exit_codes import DEFECT, UNDECIDED
from rumpus.git_calls import NAMES_ONLY, call_git
from rumpus.harness.scratch import scratch
from rumpus.usage_error import UsageError


class Repository:
    """A Git repository with recipes.

    Args:
        directory: the one in which cases are replayed; the repository's, or one inside it.

    Raises:
        UsageError: it is not in a repository, or there is no Git.
    """

    def __init__(self, directory: Path) -> None:
        program = shutil.which("git")
        if program is None:
            raise UsageError("commits need git, and there is none: install it")
        self._program = program
        self._directory = directory
        self._top = Path(self._git("rev-parse", "--show-toplevel"))
        self._inside = self._git("rev-parse", "--show-prefix")

    def commits(self, good: str, bad: str) -> list[str]:
        """The commits from one to another, both included, oldest first, by their short names.

        Where branches were merged, it is the line of first parents.

        Raises:
            UsageError: there is no such commit, or the one is no ancestor of the other.
        """
        first, last = (
            self._git("rev-parse", "--short", f"{each}^{{commit}}") for each in (good, bad)
        )
        if first != last and not self._is_ancestor(first, last):
            raise UsageError(
                f"--commits {good}..{bad}: {good} is no ancestor of {bad}: name the older one first"
            )
        words = ("--first-parent", "--reverse", "--abbrev-commit", f"{first}..{last}")
        return [first, *self._git("rev-list", *words).split()]

    def has(self, commit: str) -> bool:
        """Whether there is such a commit."""
        try:
            self._git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        except UsageError:
            return False
        return True

    def fork_of(self, commit: str) -> str:
        """Where the way to what is checked out leaves the way to a commit, by its short name.

        Raises:
            UsageError: there is no such commit, or they have nothing in common.
        """
        return self._git("rev-parse", "--short", self._git("merge-base", commit, "HEAD"))

    def changed_since(self, commit: str) -> frozenset[Path]:
        """The files that differ from a commit's, also those that nobody has committed.

        Raises:
            UsageError: there is no such commit.
        """
        listed = self._git("diff", *NAMES_ONLY, "-z", commit, inside=self._top)
        others = ("ls-files", "--others", "--exclude-standard", "-z")
        listed += "\0" + self._git(*others, inside=self._top)
        return frozenset((self._top / name).resolve() for name in listed.split("\0") if name)

    def replay(
        self, commit: str, cases: Sequence[Case], *, jobs: int, seconds: float | None = None
    ) -> Iterator[Ran]:
        """Replay cases with the code of a commit.

        The process is started in the directory of the worktree that corresponds to the repository's
        directory. Modules are looked for there and in its folder ``src``, before those that are
        installed. A run that takes longer than so many seconds is ended.

        Raises:
            UsageError: Git cannot check the commit out.
        """
        with scratch("bisect") as temporary:
            kept = temporary / "cases"
            for number, case in enumerate(cases):
                save_case(case, kept / f"{number:04d}{ENDING}")
            with self._worktree(commit, temporary / "worktree") as worktree:
                here = worktree / self._inside
                if not here.is_dir():
                    yield Ran(
                        reproduced="unknown",
                        error=f"the commit has no folder {self._inside}",
                        exit_code=UNDECIDED,
                    )
                    return
                rows = _replayed(here, kept, jobs, seconds)
        yield from rows

    @contextmanager
    def _worktree(self, commit: str, place: Path) -> Iterator[Path]:
        """A worktree with a commit, while the block runs. Nothing of it stays."""
        try:
            self._git("worktree", "add", "--quiet", "--detach", str(place), commit)
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            self._git("worktree", "prune")

    def _is_ancestor(self, first: str, last: str) -> bool:
        """Whether one commit is the other or comes before it."""
        return self._git("merge-base", first, last) == self._git("rev-parse", first)

    def _git(self, *words: str, inside: Path | None = None) -> str:
        """What Git answers, without the newline at its end; ``inside``: where it is asked.

        Raises:
            UsageError: it refuses.
        """
        done = call_git(self._program, inside or self._directory, *words)
        if done.returncode:
            said = done.stderr.strip() or f"it ended with {done.returncode}"
            raise UsageError(f"git {' '.join(words)} in {self._directory}: {said}")
        return done.stdout.strip()


def _replayed(here: Path, cases: Path, jobs: int, seconds: float | None) -> list[Ran]:
    """What ``rumpus replay`` says of cases in a directory."""
    path = [str(here), str(here / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        # The code of one commit must not be taken for that of the next one.
        "PYTHONDONTWRITEBYTECODE": "1",
        # The case's code is trusted: it is another commit of it that lies here, and not for long.
        "XDG_STATE_HOME": str(cases / "state"),
    }
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-c", program_for(os.getpid()), "replay", str(cases)),
            *("--trust", "--json", "--jobs", str(jobs)),
            *(() if seconds is None else ("--budget", f"{seconds:.3f}")),
        ],
        cwd=here,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        answer, said = process.communicate()
    except BaseException:
        process.terminate()  # it ends its own processes
        process.communicate()
        raise
    if not answer:
        words = said.decode(errors="replace").strip()[-500:]
        words = words or f"it ended with {process.returncode}"
        return [Ran(reproduced="unknown", error=words, exit_code=DEFECT)]
    document: dict[str, Any] = json.loads(answer)
    if "cases" not in document:
        words = "; ".join(document.get("reasons", ())) or "no reason given"
        return [Ran(reproduced="unknown", error=words, exit_code=process.returncode)]
    return [
        Ran(
            reproduced=row["reproduced"],
            anomaly=row["anomaly"],
            error=row["error"] or "",
            exit_code=row["exit_code"],
        )
        for row in document["cases"]
    ]
