"""Chubby: clients open files in a cell, lock them, read them from caches, and are told of changes.

All clients contend for the lock of one file. A holder writes into that file and at storage servers,
with its sequencer; others send writes with sequencers of earlier holders, as a network that delays
requests would. All read, write and follow two files, one of them that with the lock.
"""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal, TypedDict

from kazoo.exceptions import NoNodeError
from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.families.file_contents import check_file_contents
from rumpus.checker.families.generation_numbers import check_generation_numbers
from rumpus.checker.families.guarded_writes import check_guarded_writes
from rumpus.checker.families.leases import check_leases
from rumpus.checker.families.missed_changes import check_missed_changes
from rumpus.checker.history import Op
from rumpus.checker.holds import Words
from rumpus.checker.servers.txnlog import session_hex
from rumpus.checker.verdict import CheckResult
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.chubby.catalogue import CHUBBY
from rumpus.recipes.chubby.cell import paths_of
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import GenerationMismatch, Handle
from rumpus.recipes.chubby.handle_events import Event, EventKind
from rumpus.recipes.chubby.lease import HandleInvalid
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.recipes.chubby.storage import StorageServer, write_to
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.outcomes import NotDone
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session
from rumpus.workloads.contests.contender import Contender, Grant
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.framework.checks import counted, of_history
from rumpus.workloads.framework.judgement import Evidence
from rumpus.workloads.framework.operation import Failed, Refused, operation
from rumpus.workloads.own.own_interfaces import OwnCell

Mode = Literal["read", "write"]

KEYS: Final = (PRIMARY, "config")
"""The files that are read and written."""

TEMPORARY: Final = "temporary"
"""The file that is deleted and created again."""

SERVERS: Final = 2
"""How many clients run a storage server."""

WORDS: Final = Words()

OPEN_S: Final = 1.0
READ_S: Final = 1.0
STORE_S: Final = 2.5
"""Longer than a storage server waits for the cell's answer about a sequencer."""

CHANGE_S: Final = 3.5
"""How long most changes wait: until the session of a client that does not answer has ended."""

AWAIT_S: Final = CUT_OFF_NS / 1e9 + 2.0
"""How long a client waits for an event: ``check_missed_changes`` judges the last ``CUT_OFF_NS``."""

PATIENT_S: Final = 4.0
"""How long most attempts to acquire wait: longer than a session lives without heartbeats."""

FINAL_TRIES: Final = 5

ALLOWED: Final = [*OPEN_ACL_UNSAFE, *READ_ACL_UNSAFE]
"""An access control list."""

REMEMBERED: Final = 4
"""How many of the latest holds send writes and are verified: some last, some have just ended."""


class HoldProof(TypedDict):
    """What a writer's hold shows to others: the czxid of its znode, and its sequencer."""

    token: int
    sequencer: str


class FileGrant(Grant):
    """A grant, with its lock generation."""

    generation: int


class FileRead(TypedDict):
    """A file's contents, their generation, whether they were cached, and the handle's session."""

    key: str
    version: int
    data: str
    cached: bool
    session: str | None


class Version(TypedDict):
    """The content generation of a key."""

    key: str
    version: int


class Written(Version):
    """What a write became, and the handle's session."""

    cached: bool
    session: str | None


class FileStat(TypedDict):
    """A file's four generation numbers, and the handle's session. Nothing of it was cached."""

    key: str
    instance: int
    content: int
    lock: int
    acl: int
    cached: bool
    session: str | None


class AclVersion(TypedDict):
    """The ACL generation of an instance of a key."""

    key: str
    instance: int
    acl: int


class Instance(TypedDict):
    """An instance number."""

    instance: int


class Stored(TypedDict):
    """The number of a write in one life of a storage server."""

    life: str
    at: int


class Validity(TypedDict):
    """Whether a sequencer was found valid."""

    valid: bool


class Member(Contender):
    """A client of the cell: its session with it, its handles, and perhaps a storage server.

    Args:
        context: the client's context.
        recipe: the class of the sessions.
        cell: the cell's znode.
    """

    mode: Mode = "write"

    def __init__(self, context: ClientContext, recipe: type[Chubby], cell: str) -> None:
        super().__init__(context, None, recipe.line(cell))
        self._kind = recipe
        self._cell = cell
        self._session: Chubby | None = None
        self._handles: dict[str, Handle] = {}
        self._told = threading.Condition()
        self._versions: dict[str, int] = {}
        self._expired: Chubby | None = None
        self._server: StorageServer | None = None

    @property
    def session_name(self) -> str | None:
        """The session of the handles."""
        identity = None if self._session is None else self._session.session_id
        return None if identity is None else session_hex(identity)

    @contextmanager
    def using(self, name: str, patience: float = OPEN_S) -> Iterator[Handle]:
        """The handle of a file, which is opened if need be; an invalid one is given up."""
        if self._session is None:
            self._session = self._kind(self.context.kazoo, self._cell, name=self.context.name)
        handle = self._handles.get(name)
        try:
            if handle is None:
                handle = self._open(self._session, name, patience)
            yield handle
        except HandleInvalid:
            self.close()
            raise

    def _open(self, session: Chubby, name: str, patience: float) -> Handle:
        def told(event: Event) -> None:
            with self._told:
                if event.kind is EventKind.CONTENTS_CHANGED:
                    self._versions[name] = event.number
                elif event.kind is EventKind.EXPIRED:
                    self._expired = session
                self._told.notify_all()

        events = {EventKind.CONTENTS_CHANGED} if name in KEYS else set()
        handle = session.open(name, events=events, listener=told, contents=b'""', timeout=patience)
        self._handles[name] = handle
        with self._told:
            self._versions[name] = max(
                self._versions.get(name, 0), handle.opened.content_generation
            )
        if name == PRIMARY:
            self.recipe = handle
        return handle

    @contextmanager
    def guarded(self, name: str, sequencer: str) -> Iterator[Handle]:
        """Another handle of a file, with a sequencer, for one use."""
        with self.using(name):
            assert self._session is not None, "it was opened"
            handle = self._session.open(name, timeout=OPEN_S)
            try:
                handle.set_sequencer(sequencer)
                yield handle
            finally:
                handle.close()

    def forget(self, name: str) -> None:
        """Close the handle of a file that was deleted."""
        handle = self._handles.pop(name, None)
        if handle is not None:
            handle.close()

    def close(self) -> None:
        """Close the session and its handles; the next call opens others."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self._handles.clear()

    def await_change(self, name: str, version: int, timeout: float) -> int:
        """Wait until an event has told of a later content generation; which one."""
        session = self._session

        def is_told() -> bool:
            return self._expired is session or self._versions[name] > version

        with self._told:
            if not self._told.wait_for(is_told, timeout):
                raise NotDone(TIMED_OUT)
            if self._versions[name] <= version:
                raise HandleInvalid("the session has expired")
            return self._versions[name]

    # The lock, as every contender.

    def enter(self, timeout: float) -> bool:
        """Wait for the lock in the mode that ``mode`` names."""
        with self.using(PRIMARY, timeout) as handle:
            return handle.acquire("shared" if self.mode == "read" else "exclusive", timeout)

    def leave(self) -> None:
        """Release."""
        if self.recipe is None:
            raise NotHeld("no file was opened yet")
        self.recipe.release()

    def held(self) -> bool | float:
        """For how many more seconds the client is certain to hold."""
        return False if self.recipe is None else super().held()

    def proven(self, grant: Grant) -> FileGrant:
        """A grant with its generation and, if it still lasts, its sequencer."""
        found: FileGrant = {**grant, "generation": self.recipe.generation}
        with suppress(NotHeld):
            found["sequencer"] = self.recipe.get_sequencer()
        return found

    # The storage servers.

    def serve(self) -> None:
        """Run a storage server, and publish its address."""
        if self.context.client >= SERVERS or self._server is not None:
            return
        storage = self._kind.storage_class(self.context.kazoo, paths_of(self._cell, PRIMARY).lock)
        self._server = StorageServer(storage, self.context.host)
        kazoo, path = self.context.kazoo, self._address_of(self.context.client)
        address = json.dumps(self._server.address).encode()

        def publish(session: Session) -> None:
            session.ask(Deadline(OPEN_S), kazoo.ensure_path_async, path)
            session.ask(Deadline(OPEN_S), kazoo.set_async, path, address)

        until_answered(kazoo, Deadline(CHANGE_S), publish)

    def stop(self) -> None:
        """Stop the storage server, and close the session."""
        if self._server is not None:
            self._server.close()
        self.close()

    def store(self, server: int, value: int, sequencer: str) -> Stored:
        """Write a value at a storage server."""

        def find(session: Session) -> Any:
            path = self._address_of(server)
            session.catch_up(Deadline(OPEN_S), f"{path}/none")
            data, _ = session.ask(Deadline(OPEN_S), self.context.kazoo.get_async, path)
            return json.loads(data)

        try:
            host, port = until_answered(self.context.kazoo, Deadline(OPEN_S), find)
        except (NoNodeError, ValueError):
            raise NotDone("the server has not published its address") from None
        try:
            answer = write_to((host, port), "value", value, sequencer, STORE_S)
        except StaleSequencer as error:
            raise Failed("refused") from error
        return {"life": answer["life"], "at": answer["at"]}

    def _address_of(self, server: int) -> str:
        return f"{self._cell}/storage/{server}"


@dataclass
class Known:
    """What the clients' scripts share: versions that were told, and proofs of holds."""

    values: Iterator[int] = field(default_factory=count)
    versions: dict[str, int] = field(default_factory=dict)
    proofs: deque[HoldProof] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


def _lock_delay(evidence: Evidence) -> CheckResult:
    path = "" if evidence.line is None else evidence.line.path
    logs = evidence.truth, evidence.clock, path
    return check_lock_delay(
        evidence.history, evidence.holds(WORDS), *logs, evidence.promises.lock_delay
    )


def _sequencers(evidence: Evidence) -> CheckResult:
    logs = evidence.truth, evidence.clock, evidence.path
    return check_sequencers(evidence.history, evidence.holds(WORDS), WORDS, *logs)


def _generations(evidence: Evidence) -> CheckResult:
    return check_generation_numbers(evidence.history, evidence.holds(WORDS))


def _leases(evidence: Evidence) -> CheckResult:
    return check_leases(evidence.history, evidence.truth, evidence.clock, evidence.session_timeout)


class ChubbyWorkload(ContentionWorkload):
    """Clients lock, read and write files in a Chubby cell, and write at storage servers."""

    name = "chubby"
    catalogue = CHUBBY
    adapter = OwnCell
    model = "read-write-lock"
    contender = Member
    decider = "read-write-lock"
    modes = ("write", "write", "read")
    one_long_in = 15
    exchangeable = False
    requests = ("create", "delete", "read")
    _former: Member | None = None

    def open(self, recipe: type[Chubby], context: ClientContext) -> Member:
        """The client's side; that of its former session is stopped."""
        if self._former is not None:
            self._former.stop()
        self._former = Member(context, recipe, self.path)
        return self._former

    def prepare(self, member: Member) -> None:
        """Run a storage server, if this client is to."""
        member.serve()

    def shared(self) -> Known:
        """Nothing is known yet."""
        return Known()

    def on_completion(self, shared: Known, came: Op) -> None:
        """Note versions that were told."""
        if came.type == "ok" and came.f in ("read", "write") and "version" in came.value:
            shared.versions[came.value["key"]] = came.value["version"]

    # Operations.

    @operation()
    def acquire(self, member: Member, timeout: float, mode: Mode) -> FileGrant:
        """Wait for the lock of the primary's file."""
        member.mode = mode
        return member.proven(member.acquire(timeout))

    @operation(timeout=READ_S, changes=False)
    def read(self, member: Member, key: str, timeout: float) -> FileRead:
        """Read a file."""
        with member.using(key) as handle:
            found = handle.get_contents_and_stat(timeout)
            return {
                "key": key,
                "version": found.stat.content_generation,
                "data": found.data.decode(),
                "cached": found.cached,
                "session": member.session_name,
            }

    @operation(timeout=CHANGE_S)
    def write(
        self, member: Member, key: str, data: str, timeout: float, expected: int | None = None
    ) -> Written:
        """Write a file; if ``expected`` is given, only if it has that content generation."""
        with member.using(key) as handle:
            try:
                version = handle.set_contents(data.encode(), expected, timeout)
            except GenerationMismatch as error:
                raise Refused from error
            session = member.session_name
            return {"key": key, "version": version, "cached": False, "session": session}

    @operation(timeout=CHANGE_S)
    def publish(
        self,
        member: Member,
        key: str,
        data: str,
        token: int,  # noqa: ARG002 - for the checker
        sequencer: str,
        timeout: float,
    ) -> Version:
        """Write a file on a handle that has a sequencer."""
        with member.guarded(key, sequencer) as handle:
            try:
                version = handle.set_contents(data.encode(), None, timeout)
            except StaleSequencer as error:
                raise Failed("refused") from error
            return {"key": key, "version": version}

    @operation()
    def store(
        self,
        member: Member,
        server: int,
        value: int,
        token: int,  # noqa: ARG002 - for the checker
        sequencer: str,
    ) -> Stored:
        """Write a value at a storage server."""
        return member.store(server, value, sequencer)

    @operation(name="await", timeout=AWAIT_S, changes=False)
    def await_(self, member: Member, key: str, version: int, timeout: float) -> Version:
        """Wait until an event tells that a file has a later content generation."""
        with member.using(key):
            return {"key": key, "version": member.await_change(key, version, timeout)}

    @operation(timeout=READ_S, changes=False)
    def stat(self, member: Member, key: str, timeout: float) -> FileStat:
        """Read a file's generation numbers from the servers."""
        with member.using(key) as handle:
            found = handle.get_stat(timeout)
            return {
                "key": key,
                "instance": found.instance,
                "content": found.content_generation,
                "lock": found.lock_generation,
                "acl": found.acl_generation,
                "cached": False,
                "session": member.session_name,
            }

    @operation(name="set-acl", timeout=CHANGE_S)
    def set_acl(self, member: Member, key: str, timeout: float) -> AclVersion:
        """Replace the access control list by another one that allows everything."""
        with member.using(key) as handle:
            acl = handle.set_acl(ALLOWED, timeout)
            return {"key": key, "instance": handle.opened.instance, "acl": acl}

    @operation(timeout=CHANGE_S)
    def recreate(self, member: Member, timeout: float) -> Instance:
        """Delete the temporary file, and create it again."""
        with member.using(TEMPORARY) as handle:
            handle.delete(timeout)
        member.forget(TEMPORARY)
        with member.using(TEMPORARY) as handle:
            return {"instance": handle.opened.instance}

    @operation(changes=False)
    def verify(self, member: Member, sequencer: str) -> Validity:
        """Ask whether a sequencer is valid, as a server does that has a session with the cell."""
        with member.using(PRIMARY) as handle:
            return {"valid": handle.check_sequencer(sequencer, READ_S)}

    # The load.

    def load(self, client: Client) -> Steps:
        """Most clients take turns with the lock, and read, write and follow files in between.

        The last client only reads, and the one before it only changes files. Neither waits for the
        lock. So while a holder is frozen, or a client cut off, caches are read and files change.
        """
        draws = client.draws
        reads = client.clients > 2 and client.number == client.clients - 1
        writes = client.clients > 3 and client.number == client.clients - 2
        if client.before is not None and client.before.f in ("store", "publish"):
            yield self.release()  # its outcome was unknown, and the client may have been a holder
        while not client.is_over:
            if reads:
                looks = draws.one_in(20)
                yield self.stat(key=PRIMARY) if looks else self.read(key=draws.choose(KEYS))
            elif writes:
                yield self._change(client)
            elif draws.one_in(3):
                yield from self._turn(client)
            else:
                yield from self._other(client)
            yield client.rest(0.0, 0.05)

    def attempt(self, client: Client, longest: float = PATIENT_S) -> Invocation:
        """An acquire; one in six only tries, and one in six has little patience."""
        chosen = client.draws.weighted((4, longest), (1, 0.0), (1, 0.2))
        return self.acquiring(chosen, client.draws.choose(self.modes))

    def longest_hold(self, client: Client) -> float:
        """Longer than a session lives without heartbeats, so that some holds end by themselves."""
        return 3 * client.context.session_timeout

    def _turn(self, client: Client) -> Steps:
        granted = yield self.attempt(client)
        if granted.type != "ok":  # the client may be cut off: what does its cache say?
            yield from self._reads(client)
            return
        proof = _proof(granted)
        if proof is not None:
            client.shared.proofs.append(proof)
            if client.draws.one_in(3):
                yield self.verify(sequencer=proof["sequencer"])
            yield self._prove(client, proof)
        yield from self.hold(client, granted)
        yield from self.let_go(client, 1)

    def _prove(self, client: Client, proof: HoldProof) -> Invocation:
        """A write that carries a sequencer: three at a storage server to one into the file."""
        draws, value = client.draws, next(client.shared.values)
        if draws.one_in(4):
            return self.publish(key=PRIMARY, data=str(value), **proof)
        return self.store(server=draws.below(SERVERS), value=value, **proof)

    def _other(self, client: Client) -> Steps:
        """Something that needs no lock: one call, or some reads of one file in a row."""
        if client.draws.one_in(3):
            yield from self._reads(client)
        else:
            yield self._other_call(client)

    def _reads(self, client: Client) -> Steps:
        key = client.draws.choose(KEYS)
        for _ in range(2 + client.draws.below(4)):
            yield self.read(key=key)

    def _other_call(self, client: Client) -> Invocation:
        draws, known = client.draws, client.shared
        key = draws.choose(KEYS)
        chosen = draws.weighted(
            (6, "change"), (3, "await"), (2, "stat"), (3, "prove"), (3, "verify")
        )
        if chosen == "await":
            return self.await_(key=key, version=known.versions.get(key, 0))
        if chosen == "stat":
            return self.stat(key=draws.choose((*KEYS, TEMPORARY)))
        if chosen in ("prove", "verify") and known.proofs:
            proof = known.proofs[-1] if draws.one_in(2) else draws.choose(known.proofs)
            if chosen == "verify":
                return self.verify(sequencer=proof["sequencer"])
            return self._prove(client, proof)
        return self._change(client)

    def _change(self, client: Client) -> Invocation:
        """A change of a file: mostly a write, and of these every second one with a comparison."""
        draws, known = client.draws, client.shared
        key = draws.choose(KEYS)
        chosen = draws.weighted((3, "write"), (3, "compare"), (1, "acl"), (1, "recreate"))
        if chosen == "acl":
            return self.set_acl(key=key)
        if chosen == "recreate":
            return self.recreate()
        expected = known.versions.get(key) if chosen == "compare" else None
        patience = 0.5 if draws.one_in(6) else CHANGE_S
        data = str(next(known.values))
        return self.write(key=key, data=data, expected=expected, timeout=patience)

    # The final phase and the judgement.

    def final(self) -> list[ScriptFunction]:
        """As for every lock; and everybody reads, writes, and reads once more."""
        read = until_ok(self.read(key=PRIMARY), FINAL_TRIES)
        write = until_ok(
            lambda client: self.write(key=PRIMARY, data=f"final {client.process}"), FINAL_TRIES
        )
        return [*super().final(), read, write, read]

    checks = (
        _lock_delay,
        _sequencers,
        _generations,
        _leases,
        of_history(check_file_contents),
        of_history(check_guarded_writes),
        of_history(check_missed_changes, CUT_OFF_NS / 1e9),
    )
    needs = (
        *ContentionWorkload.needs,
        counted(10, "reads_from_cache", "file contents", "reads from the cache"),
        counted(10, "writes", "file contents", "writes of files"),
        counted(3, "compared_writes", "file contents", "writes with a generation check"),
        counted(3, "events", "file contents", "changes that a client was told of"),
        counted(10, "accepted", "guarded writes", "accepted writes with a sequencer"),
        counted(3, "called_valid", "sequencers", "sequencers called valid"),
        counted(3, "called_stale", "sequencers", "sequencers called stale"),
    )


def _proof(granted: Op) -> HoldProof | None:
    """What a writer's hold shows to others; None for a reader's, or if it has ended."""
    value: dict[str, Any] = granted.value or {}
    if value.get("token") is None or value.get("sequencer") is None:
        return None
    return {"token": value["token"], "sequencer": value["sequencer"]}


CHUBBY_WORKLOAD = ChubbyWorkload()
