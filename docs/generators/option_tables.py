"""Generates what the README and ``docs/reference/configuration.md`` say of the options of a run.

``python -m docs.generators.option_tables docs`` updates the pages.
"""

import sys
import textwrap
from pathlib import Path
from typing import Final

from docs.generators.marked_page import table_row, with_part
from rumpus.option_values import Choice, Flag
from rumpus.runs.option import Declared, Need
from rumpus.runs.run_options import TRIAL_OPTIONS
from rumpus.runs.run_settings import OPTIONS

MARK: Final = "options"

_NEEDS: Final[dict[Need, str]] = {
    "sim": "simulated servers",
    "docker": "real servers",
    "zookeeper": "ZooKeeper",
    "python": "clients in Python",
}


def with_usage(page: str) -> str:
    """The README with the usage of ``rumpus run`` up to date; raises as ``with_part``."""
    required = [option for option in OPTIONS.values() if option.metavar == option.name.upper()]
    words = [str(option.metavar) for option in required]
    words += [f"[{_usage(option)}]" for option in OPTIONS.values() if option not in required]
    lines = textwrap.wrap(
        " ".join(word.replace(" ", "\0") for word in [*words, "[--json]"]),
        100,
        initial_indent="$\0rumpus\0run ",
        subsequent_indent=" " * 13,
        break_on_hyphens=False,
        break_long_words=False,
    )
    usage = "\n".join(lines).replace("\0", " ")
    return with_part(page, MARK, f"```console\n{usage}\n```\n")


def _usage(option: Declared) -> str:
    """An option as it is written, with its value or what stands for that."""
    values = option.option.values
    if isinstance(values, Flag):
        return option.flag
    value = "|".join(values.words) if isinstance(values, Choice) else option.metavar
    if isinstance(option.default, int | float):
        value = f"{option.default:g}"
    value = value or option.name.upper()
    return f"{option.flag} {value if option.option.bare is None else f'[{value}]'}"


def with_options(page: str) -> str:
    """The page on configuration with its table of options up to date; raises as ``with_part``."""
    rows = [("option", "in Python", "values", "default", "needs", "`pyproject.toml`"), ("---",) * 6]
    for name, trial in TRIAL_OPTIONS.items():
        option = OPTIONS.get(name, trial)
        word = "`WORKLOAD`" if name == "workload" else f"`{option.flag}`"
        rows.append(
            (
                word if name in OPTIONS else "",
                f"`{name}`",
                option.option.values.described,
                option.usual,
                ", ".join(_NEEDS[need] for need in option.option.needs),
                f"`{option.key}`" if option.option.in_project else "",
            )
        )
    return with_part(page, MARK, "".join(f"{table_row(row)}\n" for row in rows))


def main(folder: Path) -> None:
    """Bring ``docs/reference/configuration.md`` and the README beside ``docs`` up to date."""
    for page, made in (
        (folder.resolve().parent / "README.md", with_usage),
        (folder / "reference" / "configuration.md", with_options),
    ):
        text = page.read_text(encoding="utf-8")
        page.write_text(made(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
