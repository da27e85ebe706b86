"""The program's entry: sets up streams and signals first, as importing the rest takes time."""

import atexit
import contextlib
import os
import signal
import sys
import traceback
from typing import Any

from rumpus.interruption import ENDING, has_come, wish

_DEFECT = 5
"""As in ``exit_codes``, which may not be there to import. Python's own 1 means a violation."""


def main() -> int:
    """Run the command line and return its exit code.

    A signal that asks the program to end (``wish`` raises ``KeyboardInterrupt``) ends it in order
    also while modules are imported. One that comes after the command has ended is ignored.
    """
    _open_closed_streams()
    sys.unraisablehook = _silent_about_interrupts
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # else it stays ignored (nohup)
            signal.signal(number, wish)
    try:
        from rumpus.command_line import main as command_line  # noqa: PLC0415 - see above

        code = command_line()
    except (KeyboardInterrupt, Exception) as error:
        # Python 3.11 makes a RuntimeError of what `__set_name__` raises, while a class is made.
        if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
            from rumpus.command_line import interrupted  # noqa: PLC0415 - see above

            code = interrupted(sys.argv[1:])
        else:  # commands tell their errors themselves, so this is one of the import
            traceback.print_exc()
            sys.stderr.write(f"rumpus cannot start ({error}): install it again\n")
            code = _DEFECT
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
    if has_come():
        _leave(code)
    return code


def _silent_about_interrupts(unraisable: Any) -> None:
    """Print what cannot be raised, except for a signal's exception: ``wish`` has noted the signal.

    Python cannot raise it in a callback of a weak reference, of which its import system has some.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _leave(code: int) -> None:
    """Exit with the code after a signal, once what is registered with ``atexit`` has been done.

    If a ``KeyboardInterrupt`` has ever left an ``exec``, Python remembers it, even if it was caught
    later, and a regular exit then kills the process by SIGINT instead. A regular exit would also
    wait for threads, and somebody is waiting for the end.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - removes temporary directories, ends logs
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
