"""docs/reference/commands.md is what the parsers of the commands say."""

from pathlib import Path

from docs.generators.commands_page import commands_page
from rumpus.command_arguments import COMMANDS
from rumpus.command_line import make_parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_page_is_up_to_date():
    remedy = "python -m docs.generators.commands_page > docs/reference/commands.md"
    assert commands_page() == PAGE.read_text(encoding="utf-8"), remedy


def test_every_option_of_every_command_is_there():
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert [section.partition("\n")[0] for section in sections] == list(COMMANDS)
    for name, section in zip(COMMANDS, sections, strict=True):
        shown = section + sections[0] if "those of [`run`]" in section else section
        for option in make_parser([name]).commands[name]._option_string_actions:
            if option not in ("-h", "--help", "-v", "--verbose"):
                assert option in shown, (name, option)
