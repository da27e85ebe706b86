"""Tells somebody of a night: a command gets ``night.json``."""

import shlex
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from rumpus.nights.documents.document import NightDocument
from rumpus.nights.documents.outputs import write_outputs
from rumpus.nights.documents.summary import headed
from rumpus.nights.records import Trouble

PATIENCE_S: Final = 60.0
"""How long the command may take."""

FILE: Final = "night.json"


def notify(command: str, document: NightDocument, directory: Path) -> NightDocument:
    """Give a command the path of ``night.json`` as its last argument, and its text as its input.

    A command that fails is a trouble of the night: somebody has not been told.

    Args:
        command: its words, as a shell would split them; no shell reads them.
        document: the night.
        directory: where its documents are.
    """
    why = _tell(command, directory / FILE)
    if not why:
        return document
    trouble = Trouble(kind="notify", what=f"nobody was told of this night: {why}")
    night = msgspec.structs.replace(document.night, troubles=(*document.night.troubles, trouble))
    document = headed(msgspec.structs.replace(document, night=night))
    write_outputs(document, directory, {})
    return document


def _tell(command: str, path: Path) -> str:
    """Why the command has failed; empty if it has not."""
    try:
        words = shlex.split(command)
        with path.open("rb") as text:
            done = subprocess.run(
                [*words, str(path)],
                stdin=text,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=PATIENCE_S,
                check=False,
            )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{command}: {error}"
    said = done.stderr.decode(errors="replace").strip()[-200:]
    return f"{command} ended with {done.returncode}: {said}" if done.returncode else ""
