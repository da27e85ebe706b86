"""Whether watch events came before the data, judged without the servers' logs."""

from collections.abc import Collection

from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.history import History
from rumpus.checker.verdict import CheckResult
from rumpus.checker.znodes.guarantee_models import SESSION_GUARANTEES
from rumpus.checker.znodes.znode_history import watches_by_connection


def check_late_events(history: History, keys: Collection[str]) -> CheckResult:
    """Check reads of some znodes, and the events of their watches, by ``session-guarantees``.

    Args:
        history: with ``write``, ``read`` and ``watch`` of a ``key``.
        keys: the znodes; only these operations may set watches on them.
    """
    return check_model(watches_by_connection(history, keys), SESSION_GUARANTEES, "late-event")
