"""How a recipe's call can fail: nobody knows whether it took effect, or it certainly did not.

Every exception of a recipe's own derives from one of the two, so that a caller who treats all
recipes alike catches two classes. Errors of ZooKeeper's and kazoo's pass through as they are: any
call may raise ``ConnectionClosedError``, when its client was stopped, and ``ZookeeperError``, when
the ensemble refused a request (a missing permission, say).
"""


class OutcomeUnknown(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """Nobody can say whether the call took effect: it may have, may yet, or may never.

    The call's docstring says how to find out, or which call is safe to repeat.
    """


class NotDone(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """The call certainly had no effect, and will have none."""


class ClaimLost(NotDone):
    """The claim had ended: nothing was completed or given back, and the work goes to another."""
