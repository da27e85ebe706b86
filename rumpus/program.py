"""The program: what has to be seen to before anything else of it is imported, and after all."""

import contextlib
import os
import signal
import sys
from typing import Any

from rumpus.interruption import ENDING, wish


def main() -> int:
    """Run the command line; the exit code.

    A signal that comes while modules are imported ends the program in order, as later on. So does
    one that comes when all is done: it changes nothing then.
    """
    _open_closed_streams()
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # else it was meant to be (nohup)
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
    """End now. An interruption that an ``exec`` saw in passing would end Python by its signal."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # its reader has gone, or its disk is full: said before
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Put nothing in the place of standard streams that are closed.

    Else the next file that is opened would take their place, and what is printed would go there.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


if __name__ == "__main__":
    sys.exit(main())
