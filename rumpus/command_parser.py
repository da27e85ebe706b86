"""The parser of command lines. It says what is wrong in one line, and what may have been meant."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from rumpus.catalogue.index import recipes
from rumpus.checker.nearest_name import meant, nearest
from rumpus.exit_codes import USAGE
from rumpus.results.escapes import escaped_lines

_IN_OTHER_WORDS: Final = {
    "--duration": "--time-limit",
    "--faults": "--nemesis",
    "--help-all": "--help",
    "--servers": "--nodes",
    "--timeout": "--session-timeout",
}
"""What others call an option -> what it is called here."""

_PLAINLY: Final = (
    (r"^argument (\S+): (.*)", r"\1: \2"),
    (r"expected one argument$", "its value is missing"),
    (r"expected at least one argument$", "its value is missing"),
    (r"not allowed with argument (.*)", r"cannot be given beside \1"),
    (r"ignored explicit argument (.*)", r"takes no value, and has \1"),
    (r"^one of the arguments (.*) is required", r"one of \1 is missing"),
    (r"^the following arguments are required: COMMAND", "name a command, such as list or run"),
    (r"^the following arguments are required: (.*)", r"\1 is missing"),
)
"""What argparse says -> how it is said here."""


class WrongArguments(SystemExit):
    """The command line is wrong, which has been said.

    Attributes:
        why: what is wrong with it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(USAGE)
        self.why = why


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and may quote anything, names of files for example.

    Attributes:
        commands: name -> the parser of its arguments.
    """

    commands: Mapping[str, argparse.ArgumentParser] = {}

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments of a command line.

        Raises:
            WrongArguments: there is a mistake in it.
        """
        if words[:1] and words[0].startswith("-") and words[0] not in self._option_strings():
            self.refuse_unknown(words[:1])
        arguments, rest = self.parse_known_args(words)
        if rest:
            command = self.commands[words[0]]
            assert isinstance(command, CommandParser)
            command.refuse_unknown(rest)
        return arguments

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and end."""
        missing = "are required" in message
        for pattern, plainly in _PLAINLY:
            message = re.sub(pattern, plainly, message, flags=re.DOTALL)
        if missing:
            message += f"; see `{self.prog} --help`"
        sys.stderr.write(f"{self.prog}: {escaped_lines(message)}\n")
        raise WrongArguments(message)

    def takes_json(self, words: Sequence[str]) -> bool:
        """Whether a command line asks a command for JSON that can answer in JSON."""
        command = self.commands.get(words[0]) if words else None
        # What has the option has a default for it.
        return command is not None and "--json" in words and command.get_default("json") is False

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is not among an argument's choices."""
        if action.choices is not None and value not in action.choices:
            known = [str(each) for each in action.choices]
            what = "command " if action.metavar == "COMMAND" else ""
            words = f"there is no {what}{value!r}; {meant(value, known)}"
            raise argparse.ArgumentError(None if what else action, words)

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """Say which word is one too many. The value of an option that is unknown comes after it."""
        word = words[0].partition("=")[0]
        if not word.startswith("-"):
            known = any(word in each for families in recipes().values() for each in families)
            hint = f"did you mean --recipe {word}?" if known else f"see `{self.prog} --help`"
            self.error(f"{word!r} is one word too many; {hint}")
        options = self._option_strings()
        found = _IN_OTHER_WORDS.get(word)
        near = found if found in options else nearest(word, options)
        hint = f"did you mean {near}?" if near else f"see `{self.prog} --help`"
        self.error(f"there is no option {word}; {hint}")

    def _option_strings(self) -> list[str]:
        """All options, the long ones first: they are what is mistyped."""
        return sorted(self._option_string_actions, key=lambda each: not each.startswith("--"))
