"""A replicated log with one owner at a time: owners take over, and former owners write on.

The first clients' processes are the replicas of a store; every client may own the log, and reads
it. A client that has released the log goes on appending as its former owner, like one that was
paused, or cut off from ZooKeeper.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, TypedDict

from rumpus.checker.every_run.model_check import NOT_LINEARIZABLE
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.replication import check_recovery, check_replication
from rumpus.checker.families.takeovers import check_takeovers
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext, Leaves
from rumpus.harness.clients.leftovers import look_until
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, only, until_ok
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.sealed_log.catalogue import SEALED_LOGS
from rumpus.recipes.sealed_log.owned_log import OwnedLog
from rumpus.workloads.framework.checks import follows, stats_of
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.framework.workload import FINAL_BOUND_S, Workload
from rumpus.workloads.own.own_interfaces import OwnLog

REPLICAS: Final = 3
"""How many clients' processes are replicas: the first ones."""

OWN_S: Final = 2.0
"""How long a client waits to become the owner."""

PATIENCE_S, FINAL_PATIENCE_S = 0.6, 2.0
"""How long an append or a read may take; in the final phase reads may take longer."""

CUT_S: Final = (0.3, 1.0, 2.0)
"""For how long a replica does not hear some clients."""

LATE_PAUSE_S: Final = 0.3
"""The longest pause of an owner before it writes, and of a former owner before it writes again."""

FINAL_TRIES: Final = 12
FINAL_VALUES: Final = 1_000_000
"""The first value of the final phase: the load does not reach it."""


class Position(TypedDict):
    """The owner's epoch, and a position in the log."""

    epoch: int
    at: int


class Copy(TypedDict):
    """What is on a replica's disk."""

    values: list[int]


class SealedLogWorkload(Workload):
    """Owners of a replicated log take over, and the store refuses what former owners write."""

    name = "sealed-log"
    catalogue = SEALED_LOGS
    adapter = OwnLog
    model = "append"
    main = "own"
    holding = Words(acquire="own", work="append", release="release", thing="log")
    rate = 0.02
    requests = ("create", "delete", "read", "set-data")
    _former: OwnedLog | None = None

    def open(self, recipe: type[OwnedLog], context: ClientContext) -> OwnedLog:
        """The client's log; closes that of this process's former session, if any."""
        if self._former is not None:
            self._former.close()
        self._former = recipe(
            context.kazoo,
            self.path,
            name=f"c{context.client}",
            replicas=tuple(f"c{each}" for each in range(min(REPLICAS, self.clients))),
            host=context.host,
            files=context.home,
        )
        return self._former

    def prepare(self, log: OwnedLog) -> None:
        """Look at the replica: a log of another repository is made by that, and then serves."""
        _ = log.replica

    def believes(self, log: OwnedLog) -> bool | float:
        """Whether the client believes that it owns the log."""
        return log.owning

    def shared(self) -> Iterator[int]:
        """Values that nobody has written yet."""
        return count()

    @operation()
    def own(self, log: OwnedLog, timeout: float) -> Position:
        """Become the owner."""
        return _position(log.take_over(timeout))

    @operation()
    def append(self, log: OwnedLog, value: int, /) -> Position:
        """Append a value as the owner that the client was last."""
        return _position(log.append(value, PATIENCE_S))

    @operation()
    def release(self, log: OwnedLog) -> None:
        """Release the lock; the client can still write until it is refused."""
        log.release()

    @operation(changes=False)
    def read(self, log: OwnedLog) -> list[int]:
        """Read all values, in order."""
        return log.read(PATIENCE_S)

    @operation(name="cut-off")
    def cut_off(self, log: OwnedLog, clients: list[int], seconds: float) -> None:
        """The client's replica hears nothing from some clients for a time."""
        if log.replica is None:
            raise NotDone("no replica")
        log.replica.cut_off([f"c{client}" for client in clients], seconds)

    @operation()
    def restart(self, log: OwnedLog) -> None:
        """The client's replica goes on with what is on its disk."""
        if log.replica is None:
            raise NotDone("no replica")
        log.replica.restart()

    @operation()
    def leave(self, _log: OwnedLog) -> None:
        """End the client's session: it comes back in another one."""
        raise Leaves

    @operation(changes=False)
    def converge(self, log: OwnedLog, patience: float) -> Copy:
        """Wait until the disk of the client's replica has what a read returns."""

        def both() -> tuple[list[int], list[int]]:
            log.repair(FINAL_PATIENCE_S)
            return log.read(FINAL_PATIENCE_S), log.on_disk(FINAL_PATIENCE_S)

        read, disk = look_until(lambda pair: pair[0] == pair[1], both, patience)
        if read != disk:
            raise NotDone(f"{len(disk)} values on the disk, {len(read)} were read")
        return {"values": disk}

    def load(self, client: Client) -> Steps:
        """Half of the turns are an owner's.

        An owner appends, at once or after a pause, and releases in two turns of three. Then it
        appends again, as a former owner. Replicas are cut off from some clients, and restarted, so
        that they miss entries and seals.
        """
        draws = client.draws
        while not client.is_over:
            if client.number < REPLICAS and draws.one_in(3):
                others = [n for n in range(client.clients) if draws.one_in(2)]
                yield draws.choose(
                    [
                        self.cut_off(clients=others, seconds=draws.choose(CUT_S)),
                        *2 * [self.restart()],
                    ]
                )
            if draws.one_in(25):
                yield self.leave()
            if draws.one_in(2):
                yield self.read()
                continue
            owned = yield self.own(timeout=OWN_S)
            if owned.type != "ok":
                continue
            if draws.one_in(2):
                yield client.rest(0.0, LATE_PAUSE_S)
            for _ in range(1 + draws.below(4)):
                yield self.append(next(client.shared))
            if not draws.one_in(3):
                yield self.release()
            for _ in range(draws.below(6)):
                yield client.rest(0.0, LATE_PAUSE_S)
                yield self.append(next(client.shared))

    def final(self) -> list[ScriptFunction]:
        """Every client owns the log once more and writes; then all replicas' disks are read.

        Before that one client owns the log, so that all files with entries are closed.
        """
        return [
            self._write_once,
            only({0}, until_ok(self.own(timeout=FINAL_PATIENCE_S), FINAL_TRIES)),
            only(set(range(REPLICAS)), until_ok(self.converge(patience=FINAL_BOUND_S), 2)),
        ]

    def _write_once(self, client: Client) -> Steps:
        for _ in range(FINAL_TRIES):
            yield self.own(timeout=FINAL_PATIENCE_S)
            written = yield self.append(FINAL_VALUES + next(client.shared))
            yield self.release()
            if written.type == "ok":
                return

    checks = (
        check_timeouts,
        check_replication,
        check_takeovers,
        follows("append", NOT_LINEARIZABLE, "append", "read"),
        check_recovery,
    )
    expired = "takeovers"

    def expiries(self, _: Timeline, results: Sequence[CheckResult]) -> int:
        """How many times a client became the owner."""
        return int(stats_of(results, "takeovers")["takeovers"])


def _position(place: tuple[int, int]) -> Position:
    epoch, at = place
    return {"epoch": epoch, "at": at}


SEALED_LOG = SealedLogWorkload()
