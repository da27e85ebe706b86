"""How a recipe's call can fail: nobody knows whether it took effect, or it certainly did not.

Every exception that a recipe defines derives from one of these two classes, so a caller who treats
all recipes alike needs to catch only these two. Exceptions of kazoo pass through unchanged: any
call may raise ``ConnectionClosedError`` when its client was stopped, and ``ZookeeperError`` when
the ensemble refused a request (a missing permission, say).
"""


class OutcomeUnknown(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """Nobody can say whether the call took effect: it may have, may yet, or may never.

    The call's docstring says how to find out, or which call is safe to repeat.
    """


class NotDone(Exception):  # noqa: N818 - an outcome, not a fault of the program
    """The call certainly had no effect, and will have none."""


class ClaimLost(NotDone):
    """The caller's claim to a work item had ended before the call.

    The call neither completed the item nor gave it back; the item goes to another worker.
    """
