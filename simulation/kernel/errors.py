"""What can go wrong in a world as a whole."""


class SimulationError(Exception):
    """The world itself cannot go on; the message names the cause."""


class Stuck(SimulationError):  # noqa: N818 - says what the world is
    """Nothing will ever happen again, or nothing useful has for too long; carries a dump."""


class StepLimitExceeded(SimulationError):  # noqa: N818 - says what happened
    """More steps were taken than the world allows; carries a dump."""


class Hung(BaseException):
    """A task computes for ever without a blocking call; the traceback shows where.

    Derives from ``BaseException``: it must not be taken for a failure of an operation.
    """


class ProcessKilled(BaseException):
    """Raised in the tasks of a process that was killed, so that their stacks unwind.

    Derives from ``BaseException``, as nothing that a program does must keep it alive.
    """
