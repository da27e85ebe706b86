"""Files by which a scheduler performs nights: what ``rumpus init --nightly`` writes.

They are the files of ``examples/ci``, which are tested as they are and lie in the package, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rumpus.results.escapes import in_shell
from rumpus.usage_error import UsageError

TEMPLATES: Final = Path(__file__).parent / "ci"

_PROGRAM: Final = "/srv/project/.venv/bin/rumpus"
_PROJECT: Final = "/srv/project"


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """Something that performs a night when it is time.

    Attributes:
        files: path in the user's repository -> path among the templates.
        next_steps: what the user does next; ``{project}`` is the repository's path, for a shell.
    """

    files: Mapping[str, str]
    next_steps: Sequence[str]


SCHEDULERS: Final = {
    "github": Scheduler(
        files={".github/workflows/rumpus-nightly.yml": "github/rumpus-nightly.yml"},
        next_steps=(
            "git add .github/workflows/rumpus-nightly.yml",
            "commit and push it to the default branch; then, for a first night at once:",
            "gh workflow run rumpus-nightly.yml",
        ),
    ),
    "gitlab": Scheduler(
        files={".gitlab-ci.rumpus-nightly.yml": "gitlab/rumpus-nightly.gitlab-ci.yml"},
        next_steps=(
            "add to .gitlab-ci.yml:",
            "include:",
            "  - local: .gitlab-ci.rumpus-nightly.yml",
            "commit and push both; then make a schedule: Build, Pipeline schedules",
        ),
    ),
    "cron": Scheduler(
        files={
            name: f"cron/{name}"
            for name in ("rumpus-nightly.service", "rumpus-nightly.timer", "rumpus-notify.sh")
        },
        next_steps=(
            "systemctl --user link {project}/rumpus-nightly.service {project}/rumpus-nightly.timer",
            "systemctl --user enable --now rumpus-nightly.timer",
            "systemctl --user start rumpus-nightly.service  # a first night at once",
            "loginctl enable-linger  # nights also while you are not logged in",
            "RUMPUS_MAIL_TO or RUMPUS_WEBHOOK in ~/.config/rumpus-nightly.env says whom to tell",
        ),
    ),
}
"""Name -> what it needs."""


def files_for(name: str, project: Path, program: Path) -> dict[str, str]:
    """The files that let a scheduler perform nights: path in the repository -> text.

    Args:
        name: of the scheduler.
        project: the repository.
        program: the command ``rumpus``.

    Raises:
        UsageError: the scheduler cannot be told such a path.
    """
    texts = {
        place: (TEMPLATES / template).read_text(encoding="utf-8")
        for place, template in SCHEDULERS[name].files.items()
    }
    if name != "cron":
        return texts
    own = {_PROGRAM: _path_of_unit(program), _PROJECT: _path_of_unit(project)}
    paths = re.compile("|".join(map(re.escape, own)))
    return {
        place: paths.sub(lambda found: own[found[0]], text) if "rumpus-nightly." in place else text
        for place, text in texts.items()
    }


def next_steps(name: str, project: Path) -> list[str]:
    """What the user does when the files are written."""
    return [step.format(project=in_shell([project])) for step in SCHEDULERS[name].next_steps]


def _path_of_unit(path: Path) -> str:
    """A path in a unit, where ``%`` begins a specifier. systemd runs no program with a quote."""
    text = str(path)
    if not text.isprintable() or set(text) & set("\"'\\"):
        raise UsageError(f"{text!a}: a unit of systemd cannot name it; give it another name")
    return text.replace("%", "%%")
