"""The program's entry: sets up streams and signals before it imports the rest, and exits."""

import contextlib
import os
import signal
import sys
from typing import Any

from rumpus.interruption import ENDING, wish


def main() -> int:
    """Run the command line; the exit code.

    A signal that comes while modules are imported ends the program in order, as it does later. One
    that comes after the command has ended is ignored.
    """
    _open_closed_streams()
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # else it stays ignored (nohup)
            signal.signal(number, wish)
    try:
        from rumpus.command_line import main as command_line  # noqa: PLC0415 - see above

        code = command_line()
    except KeyboardInterrupt:
        from rumpus.command_line import interrupted  # noqa: PLC0415 - see above

        code = interrupted(sys.argv[1:])
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
    from rumpus.exit_codes import UNDECIDED  # noqa: PLC0415 - see above

    if code == UNDECIDED:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """Exit at once, with the code.

    Where a ``KeyboardInterrupt`` has passed through an ``exec``, even if it was caught later, a
    regular exit of Python would kill the process by SIGINT instead.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # its reader has gone, or its disk is full
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Else the next file that is opened would get a stream's number, and receive what is printed.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


if __name__ == "__main__":
    sys.exit(main())
