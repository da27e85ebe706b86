"""Holds checked against a model of a lock: a second check of exclusion, from the history alone.

`checker.exclusion.mutual_exclusion` compares beliefs, and takes the ends of sessions from the
servers' logs. Here the same holds are decided as operations of a lock, as `rumpus check --model`
would, without the logs: a session is assumed to live only until the last call of a grant in it
(`checker.timeline.session_proofs`). Holds that overlap even so overlap for certain.

The recorded operations do not say when a client learned that it no longer holds. So in the table
that is decided each hold is a process of its own, and its end is a release:

- an acknowledged release of a client that believed until then and whose session is known to have
  lived: the lock was held at least until the release was called;
- everything else (the session is in doubt or not known to live, the time of a lease is up, the
  client died, its release failed or its outcome is unknown): a release of unknown outcome at the
  time at which the belief ended, or when the session was last known to live.

Left out are acquires of unknown outcome, which may never have happened, and grants that a client
may have made up without asking the servers. If the model cannot decide, the verdict does not
become unknown, for it does not depend on this check.
"""

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np

from rumpus.checker.check import check
from rumpus.checker.deciders.decide import ModelEntry, decide
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.exclusion.grants import TOKEN_REGRESSION
from rumpus.checker.exclusion.mutual_exclusion import SPLIT_BRAIN
from rumpus.checker.history import History
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.session_proofs import lives_by_grants, proven_grants
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

SECONDS = 5.0
BYTES = 512 << 20
"""The time and memory that a search may take where a simple check of the holds is not enough."""


@check("holds by model", finds=[SPLIT_BRAIN, TOKEN_REGRESSION], unless=["exclusion", "tokens"])
def check_holds_by_model(timeline: Timeline, model: str, fenced: str = "") -> CheckResult:
    """Decide once more whether the holds follow the model of a lock.

    Args:
        timeline: the run.
        model: the model's name.
        fenced: the same for recipes whose grants have tokens, if it is another model.
    """
    tokens = timeline.promises.tokens
    entry = MODELS[(tokens and fenced) or model]
    return judge_holds_by_model(
        timeline.history, timeline.holds, entry, permits=timeline.permits, tokens=tokens
    )


def judge_holds_by_model(
    history: History,
    holds: Sequence[Hold],
    entry: ModelEntry,
    *,
    permits: int = 1,
    tokens: bool = False,
) -> CheckResult:
    """Decide whether holds follow the model of a lock: ``split-brain`` if not.

    Args:
        history: the run.
        holds: its holds.
        entry: its model.
        permits: how many may hold at once.
        tokens: whether the model also checks the tokens. If the history follows the model without
            tokens but not with them, the anomaly is a ``token-regression``.
    """
    result = CheckResult(name="holds by model")
    modes = "acquire_read" in entry.functions
    holds = proven_grants(holds)

    def decided(*, tokens: bool) -> tuple[OperationTable, Decision]:
        rows = _rows(history, holds, modes=modes, tokens=tokens)
        table = OperationTable.from_rows(rows)
        return table, decide(entry, table, permits, Budget(SECONDS, BYTES))

    table, decision = decided(tokens=tokens)
    result.stats = {"model": entry.name, "holds": len(holds), "decided": decision.valid}
    if decision.witness is None:
        return result
    fenced = tokens and decided(tokens=False)[1].valid is not False
    told = [holds[place] for place in np.unique(table.index[decision.witness.operations])]
    result.anomalies.append(
        Anomaly(
            kind="token-regression" if fenced else "split-brain",
            description=re.sub(
                r"process (\d+)",
                lambda found: f"c{holds[int(found[1])].client}",
                decision.witness.description,
            ),
            ops=sorted({index for hold in told for index in hold.ops}),
            clients=sorted({hold.client for hold in told}),
            start=min(hold.called for hold in told),
            end=max(hold.believed_until for hold in told),
        )
    )
    return result


def _rows(
    history: History, holds: Sequence[Hold], *, modes: bool, tokens: bool
) -> Iterator[dict[str, Any]]:
    """Two rows per hold: acquire and release. The hold's place is their process and index."""
    lives = lives_by_grants(holds)
    for place, hold in enumerate(holds):
        called = hold.release_called
        until = int(min(hold.believed_until, lives.told_until(hold.session, -inf)))
        sure = hold.released and called is not None and called <= until
        mode = {"argument": "read" if hold.shared else "write"} if modes else {}
        number = {"token": hold.token} if tokens and hold.token is not None else {}
        # A session just for this row: it is not known to have lived after the grant.
        ended = {"session": f"of hold {place}"} if until <= hold.granted else {}
        yield {
            "f": "acquire",
            "process": place,
            "call": hold.called,
            "returned": hold.granted,
            "index": place,
            **mode,
            **number,
            **ended,
        }
        yield {
            "f": "release",
            "process": place,
            "call": called if sure else max(until, hold.granted),
            # A Hold does not say when its release returned: at the latest by the history's end.
            "returned": max(history.end, until) if sure else NEVER,
            "outcome": OK if sure else INFO,
            "index": place,
            **mode,
        }
