"""Errors that end a simulated world, or one of its processes."""


class SimulationError(Exception):
    """The world itself cannot go on; the message names the cause."""


class Stuck(SimulationError):  # noqa: N818 - says what the world is
    """Deadlock: nothing will ever happen again; the message has all tasks' stacks."""


class StepLimitExceeded(SimulationError):  # noqa: N818 - says what happened
    """More steps were taken than the world allows; the message has all tasks' stacks."""


class WorldEnded(BaseException):
    """The real program ends a world that is in the midst of something.

    Derives from ``BaseException``: a program's ``except Exception`` must not swallow it.
    """


class Hung(WorldEnded):
    """A task computes for ever without a blocking call; the traceback shows where."""


class OutOfMemory(WorldEnded):
    """Hardly any memory is left."""


class OutOfTime(WorldEnded):
    """It has taken as much processor time as it may."""


class ProcessKilled(BaseException):
    """Raised in the tasks of a process that was killed, so that their stacks unwind.

    Derives from ``BaseException``: a program's ``except Exception`` must not keep it alive.
    """
