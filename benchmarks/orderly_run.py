"""A run of any length as a perfect lock would leave it: its history, and what the servers logged.

Clients hold in turn. In each slot one client is granted, acts three times and lets go; the watch
on its node wakes the next in line; then it stands in line again. Ten records a slot.
"""

from dataclasses import dataclass
from typing import Any

from rumpus.checker.history import History, Op, OpType
from rumpus.checker.servers.commitment import Commitment
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.workloads.contests.lock import LOCK

RECORDS_A_SLOT = 10
SLOT_NS = 6_000_000
WALL_NS = 1_700_000_000_000_000_000
FIRST_SESSION = 0x1000


@dataclass
class Logs:
    """Numbers records and transactions as they are made."""

    ops: list[Op]
    txns: list[Txn]

    def op(self, time: int, process: int | str, type_: OpType, f: str, value: Any = None) -> None:
        self.ops.append(
            Op(index=len(self.ops), time=time, process=process, type=type_, f=f, value=value)
        )

    def txn(self, time: int, client: int, type_: int, name: str, **fields: Any) -> int:
        zxid = (1 << 32) + len(self.txns) + 1
        wall_ms = (WALL_NS + time) // 1_000_000
        session = FIRST_SESSION + client
        self.txns.append(
            Txn(
                zxid=zxid, session=session, cxid=1, time_ms=wall_ms, type=type_, name=name, **fields
            )
        )
        return zxid


def orderly_run(clients: int, records: int) -> Timeline:
    """The evidence of such a run, of so many records or a few more."""
    logs = Logs([], [])
    line = FairLock.line(LOCK.path)
    nodes: list[tuple[str, int]] = []
    for client in range(clients):
        logs.txn(0, client, -10, "createSession", timeout=2000)
        logs.op(client + 1, "session", "info", "connected", _session(client))

    def enter(time: int, client: int, f: str = LOCK.words.acquire) -> None:
        logs.op(time, client, "invoke", f, {"timeout": 5.0})
        path = f"{line.path}/x{line.mark}{len(nodes):010d}"
        zxid = logs.txn(time + 1_000, client, 15, "create2", path=path, ephemeral=True)
        nodes.append((path, zxid))

    def hold(time: int, slot: int, *, again: bool) -> None:
        client = slot % clients
        path, token = nodes[slot]
        words = LOCK.words
        granted = {**_session(client), "token": token, "node": path}
        logs.op(time + 1_000, client, "ok", words.acquire, granted)
        logs.op(time + 100_000, client, "invoke", words.work, {"acts": 3, "pause": 0.001})
        for number in range(3):
            act = {"client": client, "process": client, "token": token}
            act |= {"order": 3 * slot + number, "accepted": True}
            logs.op(time + (number + 1) * 1_000_000, "witness", "info", "act", act)
        logs.op(time + 3_100_000, client, "ok", words.work, {"acts": 3})
        logs.op(time + 3_200_000, client, "invoke", words.release)
        logs.txn(time + 4_000_000, client, 2, "delete", path=path)
        seen = {"client": (client + 1) % clients, "event": "deleted", "path": path}
        logs.op(time + 4_100_000, "link", "info", "watch", seen)
        logs.op(time + 4_200_000, client, "ok", words.release)
        if again:
            enter(time + 4_500_000, client)

    for client in range(clients):
        enter(10_000 * (client + 1), client)
    slots = max(clients, records // RECORDS_A_SLOT - clients)
    time = SLOT_NS
    for slot in range(slots):
        hold(time, slot, again=slot + clients < slots)
        time += SLOT_NS
    phase = {"phase": "final", "healed": True, "detail": ""}
    logs.op(time, "control", "info", "phase", phase)
    for client in range(clients):
        enter(time + 10_000 * (client + 1), (slots + client) % clients)
    for slot in range(slots, slots + clients):
        hold(time + SLOT_NS, slot, again=False)
        time += SLOT_NS
    time += SLOT_NS
    logs.op(time, 0, "invoke", "inspect", {"patience": 5.0})
    logs.op(time + 1_000_000, 0, "ok", "inspect", {"nodes": []})
    logs.op(time + 2_000_000, "control", "info", "phase-end", {"phase": "final"})
    logs.op(time + 3_000_000, "control", "info", "end", {})
    return Timeline(
        history=History(logs.ops, clients=clients),
        promises=FairLock.promises,
        truth=ServerTruth(Commitment(tuple(logs.txns), (), (), ())),
        clock=WallClock([(0, WALL_NS), (time, WALL_NS + time)]),
        line=line,
    )


def _session(client: int) -> dict[str, Any]:
    return {"client": client, "process": client, "session": f"0x{FIRST_SESSION + client:x}"}
