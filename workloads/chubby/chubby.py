"""Chubby: clients open files in a cell, lock them, read them from caches, and are told of changes.

All clients contend for the lock of one file. A holder writes into that file and at storage servers,
with its sequencer; others send writes with sequencers of earlier holders, as a network that delays
requests would. All read, write and follow two files, one of them that with the lock.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final, TypedDict

from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import check_sequencers
from rumpus.checker.families.file_contents import check_file_contents
from rumpus.checker.families.generation_numbers import check_generation_numbers
from rumpus.checker.families.guarded_writes import check_guarded_writes
from rumpus.checker.families.leases import check_leases
from rumpus.checker.families.missed_changes import check_missed_changes, written
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Steps, until_ok
from rumpus.recipes.chubby.catalogue import CHUBBY
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import GenerationMismatch
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.workloads.chubby.member import (
    CHANGE_S,
    CHILDREN,
    KEYS,
    LOCK,
    READ_S,
    SERVERS,
    TOPICS,
    FileGrant,
    Member,
    Mode,
    Stored,
)
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.framework.checks import counted
from rumpus.workloads.framework.operation import Failed, Refused, operation
from rumpus.workloads.own.own_interfaces import OwnCell

TEMPORARY: Final = "temporary"
"""The file that is deleted and created again."""

WORDS: Final = Words()

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


class Added(Version):
    """How many children a file has at least, once another one was added; ``key`` as in TOPICS."""

    child: str


class Instance(TypedDict):
    """An instance number."""

    instance: int


class Validity(TypedDict):
    """Whether a sequencer was found valid."""

    valid: bool


@dataclass
class Known:
    """What the clients' scripts share: versions that were told, and proofs of holds."""

    values: Iterator[int] = field(default_factory=count)
    versions: dict[str, int] = field(default_factory=dict)
    proofs: deque[HoldProof] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


def _raised(done: Op) -> tuple[str, int] | None:
    """Which topic's number an acknowledged operation has raised, and how far at least."""
    if done.f == "acquire":
        return LOCK, done.value["generation"]
    return (CHILDREN, done.value["version"]) if done.f == "add" else written(done)


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
        elif came.type == "ok" and came.f in ("acquire", "add"):
            by_grant = came.f == "acquire"
            topic, number = (LOCK, "generation") if by_grant else (CHILDREN, "version")
            before = shared.versions.get(topic, 0)
            shared.versions[topic] = max(before, came.value.get(number, 0))

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
        """Wait until an event tells that one of ``TOPICS`` has a higher number."""
        with member.using(TOPICS[key][0]):
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

    @operation(timeout=CHANGE_S)
    def add(self, member: Member, child: str, timeout: float) -> Added:
        """Create another child of a file."""
        file, _ = TOPICS[CHILDREN]
        return {"key": CHILDREN, "child": child, "version": member.add(file, child, timeout)}

    @operation(changes=False)
    def verify(self, member: Member, sequencer: str) -> Validity:
        """Ask whether a sequencer is valid, as a server does that has a session with the cell."""
        with member.using(PRIMARY) as handle:
            return {"valid": handle.check_sequencer(sequencer, READ_S)}

    # The load.

    def least_clients(self, recipe: Any) -> int:  # noqa: ARG002 - the same for all
        """Two that contend, one that reads, and one that changes files."""
        return 4

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
        if client.draws.one_in(2):
            yield from self._writes(client)
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

    def _writes(self, client: Client) -> Steps:
        """Some changes in a row by a holder, so that files change while nobody else can hold."""
        for _ in range(1 + client.draws.below(4)):
            yield self._change(client)
            yield client.rest(0.0, 0.2)

    def _other_call(self, client: Client) -> Invocation:
        draws, known = client.draws, client.shared
        chosen = draws.weighted(
            (6, "change"), (5, "await"), (2, "stat"), (3, "prove"), (3, "verify")
        )
        if chosen == "await":
            topic = draws.choose(tuple(TOPICS))
            return self.await_(key=topic, version=known.versions.get(topic, 0))
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
        chosen = draws.weighted(
            (3, "write"), (3, "compare"), (1, "acl"), (1, "recreate"), (1, "add")
        )
        if chosen == "acl":
            return self.set_acl(key=key)
        if chosen == "recreate":
            return self.recreate()
        if chosen == "add":
            return self.add(child=str(next(known.values)))
        expected = known.versions.get(key) if chosen == "compare" else None
        patience = 0.5 if draws.one_in(6) else CHANGE_S
        data = str(next(known.values))
        return self.write(key=key, data=data, expected=expected, timeout=patience)

    # The final phase and the judgement.

    def final(self) -> list[ScriptFunction]:
        """As for every lock; then everybody reads, writes, reads, and waits for the last events."""
        read = until_ok(self.read(key=PRIMARY), FINAL_TRIES)
        write = until_ok(
            lambda client: self.write(key=PRIMARY, data=f"final {client.process}"), FINAL_TRIES
        )
        return [*super().final(), read, write, read, self._last_news]

    def _last_news(self, client: Client) -> Steps:
        """Wait for the events of the last changes: no later ones stand in for them."""
        for topic, version in client.shared.versions.items():
            if topic in TOPICS:
                yield self.await_(key=topic, version=version - 1)

    checks = (
        check_lock_delay,
        check_sequencers,
        check_generation_numbers,
        check_leases,
        check_file_contents,
        check_guarded_writes,
        partial(check_missed_changes, bound_s=CUT_OFF_NS / 1e9, change=_raised),
    )
    needs = (
        *ContentionWorkload.needs,
        counted(10, "reads_from_cache", "file contents", "reads from the cache"),
        counted(10, "writes", "file contents", "writes of files"),
        counted(3, "compared_writes", "file contents", "writes with a generation check"),
        counted(3, "events", "file contents", "changes that a client was told of"),
        counted(len(TOPICS), "keys_told", "missed changes", "kinds of change that were told"),
        counted(10, "accepted", "guarded writes", "accepted writes with a sequencer"),
        counted(3, "called_valid", "sequencers", "sequencers called valid"),
        # In 20 s of load there are five to twelve, but two where holders are frozen for long.
        counted(1, "called_stale", "sequencers", "sequencers called stale"),
    )


def _proof(granted: Op) -> HoldProof | None:
    """What a writer's hold shows to others; None for a reader's, or if it has ended."""
    value: dict[str, Any] = granted.value or {}
    if value.get("token") is None or value.get("sequencer") is None:
        return None
    return {"token": value["token"], "sequencer": value["sequencer"]}


CHUBBY_WORKLOAD = ChubbyWorkload()
