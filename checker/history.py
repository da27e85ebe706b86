"""Operations and histories: what happened in a run, in Jepsen's format.

A record is ``{index, time, process, type, f, value, error}``:

- ``index``: position in the file; verdicts cite a record by it;
- ``time``: nanoseconds on the run's monotonic clock, read by the process that made the record;
- ``process``: an integer for a client's operations, a word for everything else (below);
- ``type``: ``invoke``, then one of ``ok`` (it happened), ``fail`` (it did not happen),
  ``info`` (nobody knows). Records that are not operations are of type ``info``;
- ``f``: the function that was called; ``value``: its arguments in a call, its result in a
  completion; ``error``: why it failed, or why its outcome is unknown.

Clients are numbered from 0. Process ``p`` belongs to client ``p % clients``: a process whose
operation ended in ``info`` never runs another one (but for one clean-up ``release``), and its
client goes on as process ``p + clients``.

Records that are not client operations:

========  ======================================================================
process   what
========  ======================================================================
nemesis   ``invoke``/``info`` pairs around each action. ``f`` is ``start`` or ``stop``,
          ``value`` has ``id`` (one per fault), ``kind``, ``targets``, and in the ``info``
          record ``verified`` and ``detail``
session   ``f`` is ``connected``, ``suspended``, ``lost``, ``closed``, ``believes``,
          ``doubts``, ``paused``, ``resumed``, ``started`` or ``exited``; ``value`` has
          ``client``, ``process`` and, where there is one, ``session`` (a hex string), ``at``
          (the recipe's line), ``code`` (what is written there), ``until`` (the end of a
          belief) and ``since`` (the last look that said yes, before ``doubts``; the
          kill, before ``exited``)
witness   ``f`` is ``act``: an action on the protected resource, in the order in which the
          resource saw them; ``value`` has ``client``, ``process``, ``token``, ``order``,
          ``accepted``
link      ``f`` is ``watch``: a watch event on its way to a client; ``value`` has ``client``,
          ``event``, ``path``, ``connection``, ``shown``. ``watch-left``: the reply to a read
          that left a watch; ``client``, ``path``, ``connection``, ``kind``, ``zxid``.
          ``requests``, at the end: how many requests of a client were forwarded to servers;
          ``value`` has ``client``, ``requests`` (kind -> how many); ``wire``: how many
           handshakes and requests of a client had passed
control   ``f`` is ``test`` (first record of a run: what was run), ``phase``,
          ``phase-end``, ``leader``, ``walk`` (a server was asked for its whole tree) or ``end``
          (a run's orderly last record)
========  ======================================================================
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Self, overload

import msgspec

OpType = Literal["invoke", "ok", "fail", "info"]
Process = int | str

TYPES_OF_OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "nemesis": frozenset({"invoke", "info"}),
    "session": frozenset({"info"}),
    "witness": frozenset({"info"}),
    "link": frozenset({"info"}),
    "control": frozenset({"info"}),
}
"""The processes that are not clients' -> the types that their records may have."""


class Op(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record of a history. See the module for the meaning of its fields."""

    index: int = -1
    time: int
    process: Process
    type: OpType
    f: str
    value: Any = None
    error: str | None = None


def wrong_process(op: Op) -> str | None:
    """What is wrong with a record's ``process`` and ``type``, in words; None if nothing is.

    Records of an unknown process are refused: if it were a client's operation under a wrong
    name, no checker would look at it.
    """
    if isinstance(op.process, int):
        return None
    types = TYPES_OF_OTHERS.get(op.process)
    if types is None:
        return (
            f"its process is {op.process!r}; a client's is an integer, and other processes are "
            f"{', '.join(TYPES_OF_OTHERS)}"
        )
    if op.type not in types:
        return f"a record of {op.process} is of type {' or '.join(sorted(types))}, not {op.type}"
    return None


class Operation(NamedTuple):
    """A client's (or the nemesis's) operation: its call, and its completion if it has one.

    An operation without completion was open when the history ended: its outcome is as
    unknown as that of one that completed with ``info``.
    """

    invoke: Op
    completion: Op | None

    @property
    def done(self) -> Op:
        """The completion of an operation that is known to have one."""
        assert self.completion is not None, "only completed operations are asked"
        return self.completion

    @property
    def outcome(self) -> Literal["ok", "fail", "info"]:
        """``ok``, ``fail`` or ``info``; an operation still open is ``info``."""
        if self.completion is None or self.completion.type == "invoke":
            return "info"
        return self.completion.type

    @property
    def indices(self) -> list[int]:
        """The indices of its records."""
        return [self.invoke.index] + ([self.completion.index] if self.completion else [])


class History(Sequence[Op]):
    """The records of one run, ordered by time (ties keep the order of the file).

    Args:
        ops: the records, in any order.
        clients: number of clients, so that a process can be traced to its client; found from
            the records when not given.
        truncated: whether the end is missing (the run was killed).
    """

    def __init__(
        self, ops: Iterable[Op], *, clients: int | None = None, truncated: bool = False
    ) -> None:
        self._ops = sorted(ops, key=lambda op: op.time)
        self._operations: dict[bool, tuple[Operation, ...]] = {}
        self._owners: dict[str, int] | None = None
        self._sessions: Mapping[str, int] = {}
        self._functions: dict[int, str] | None = None
        self._events: dict[str, list[Op]] | None = None
        self.truncated = truncated
        self.clients = clients if clients is not None else self._count_clients()

    def _count_clients(self) -> int:
        told = (op.value for op in self._ops if op.process == "session")
        named = (value.get("client") for value in told if isinstance(value, dict))
        known = {client for client in named if isinstance(client, int)}
        if known:
            return max(known) + 1
        return max((op.process for op in self._ops if isinstance(op.process, int)), default=-1) + 1

    def __len__(self) -> int:
        return len(self._ops)

    @overload
    def __getitem__(self, position: int) -> Op: ...
    @overload
    def __getitem__(self, position: slice) -> "History": ...
    def __getitem__(self, position: int | slice) -> "Op | History":
        if isinstance(position, slice):
            return History(self._ops[position], clients=self.clients, truncated=self.truncated)
        return self._ops[position]

    def __iter__(self) -> Iterator[Op]:
        return iter(self._ops)

    def client_of(self, process: int) -> int:
        """The client that ran a process."""
        return process % self.clients if self.clients else process

    def caller(self, call: "Op | Operation") -> int:
        """The client of an operation, or of one of a client's records.

        Raises:
            ValueError: the record is not a client's.
        """
        op = call.invoke if isinstance(call, Operation) else call
        return self.client_of(int(op.process))

    def with_sessions(self, sessions: Mapping[str, int]) -> Self:
        """The same records, and whose further sessions are, by what passed on the clients' links.

        Args:
            sessions: session (hexadecimal) -> its client.
        """
        known = copy(self)
        known._sessions, known._owners = sessions, None  # noqa: SLF001 - its own class
        return known

    def clients_of_sessions(self) -> dict[str, int]:
        """Session (hexadecimal) -> its client, for every session that is known to be a client's.

        A client's process may have several at a time: of clients that the program made itself.
        """
        if self._owners is None:
            self._owners = dict(self._sessions) | {
                op.value["session"]: int(op.value["client"])
                for op in self._ops
                if op.process == "session" and op.value.get("session")
            }
        return dict(self._owners)

    def functions(self) -> Mapping[int, str]:
        """Index -> the function called, for every record of clients' operations."""
        if self._functions is None:
            self._functions = {op.index: op.f for op in self._ops if isinstance(op.process, int)}
        return self._functions

    def events(self, process: str, f: str | None = None) -> list[Op]:
        """Records of a process that is not a client's (``session`` ...), of one ``f`` if given."""
        if self._events is None:
            self._events = {}
            for op in self._ops:
                if type(op.process) is str:
                    self._events.setdefault(op.process, []).append(op)
        of_process = self._events.get(process, [])
        return of_process.copy() if f is None else [op for op in of_process if op.f == f]

    def operations(self, *, nemesis: bool = False) -> list[Operation]:
        """Calls paired with their completions, ordered by call; clients' or the nemesis's.

        Raises:
            ValueError: a process has two operations open, completes one that it never called,
                or completes another ``f`` than it called; the message names the record.
        """
        if nemesis not in self._operations:
            self._operations[nemesis] = self._pair(nemesis=nemesis)
        return list(self._operations[nemesis])

    def answered(self, *functions: str) -> Iterator[tuple[Operation, Op]]:
        """Clients' operations that returned ok, each with that return, ordered by call.

        Only those with one of these names; all, if none is given. Raises what ``operations`` does.
        """
        for operation in self.operations():
            call, done = operation
            if done is not None and done.type == "ok" and (not functions or call.f in functions):
                yield operation, done

    def _pair(self, *, nemesis: bool) -> tuple[Operation, ...]:
        open_calls: dict[Process, int] = {}
        pairs: list[Operation] = []
        for op in self._ops:
            if (op.process == "nemesis") if nemesis else isinstance(op.process, int):
                if op.type == "invoke":
                    if op.process in open_calls:
                        raise ValueError(
                            f"record {op.index}: process {op.process} calls {op.f} while its "
                            f"{pairs[open_calls[op.process]].invoke.f} is still open"
                        )
                    open_calls[op.process] = len(pairs)
                    pairs.append(Operation(op, None))
                else:
                    at = open_calls.pop(op.process, None)
                    if at is None:
                        raise ValueError(
                            f"record {op.index}: process {op.process} completes {op.f} "
                            "without having called it"
                        )
                    call = pairs[at].invoke
                    if op.f != call.f:
                        raise ValueError(
                            f"record {op.index}: process {op.process} completes {op.f} while its "
                            f"{call.f} is open"
                        )
                    pairs[at] = Operation(call, op)
        return tuple(pairs)

    @property
    def start(self) -> int:
        """Time of the first record, 0 if there is none."""
        return self._ops[0].time if self._ops else 0

    @property
    def end(self) -> int:
        """Time of the last record, 0 if there is none."""
        return self._ops[-1].time if self._ops else 0


@lru_cache(4096)
def session_hex(session: int) -> str:
    """A session id as ZooKeeper and the records write it: ``0x``, and the unsigned number."""
    return f"0x{session & 0xFFFF_FFFF_FFFF_FFFF:x}"


def load_began(history: History, time_limit: float) -> int | None:
    """When a run's load began, on the run's clock; None if it was not healed on time."""
    for operation in history.operations(nemesis=True):
        if operation.invoke.f == "heal-all":
            return operation.invoke.time - round(time_limit * 1e9)
    return None


def final_phase(history: History) -> Op | None:
    """The record with which the final phase began."""
    for op in history.events("control", "phase"):
        if (op.value or {}).get("phase") == "final":
            return op
    return None
