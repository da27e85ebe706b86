"""A command that waits for something long says so."""

import io
import threading

from rich.console import Console

from rumpus.live_line import waiting


class Told(io.StringIO):
    """Says when so many lines were printed."""

    def __init__(self, lines):
        super().__init__()
        self.lines, self.enough = lines, threading.Event()

    def write(self, text):
        done = super().write(text)
        if self.getvalue().count("\n") >= self.lines:
            self.enough.set()
        return done


def test_what_is_being_done_is_said_again_until_it_is_over():
    told = Told(lines=3)
    with waiting(Console(file=told, width=40), "performing the run of a case", period=0.01):
        assert told.enough.wait(30)
    lines = told.getvalue().splitlines()
    assert len(lines) >= 3
    assert all(line.endswith(" s  performing the run of a case") for line in lines)
    assert len(told.getvalue().splitlines()) == len(lines)


def test_nothing_is_said_of_what_is_soon_over():
    told = Told(lines=1)
    with waiting(Console(file=told), "at work"):
        pass
    assert told.getvalue() == ""
