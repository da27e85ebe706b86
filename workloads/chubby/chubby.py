"""Chubby: clients open files in a cell, lock them, read them from caches, and are told of changes.

All clients contend for the lock of one file. A holder writes into that file and at storage servers,
with its sequencer; others send writes with sequencers of earlier holders, as a network that delays
requests would. All read, write and follow two files, one of them that with the lock.
"""

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

from kazoo.security import READ_ACL_UNSAFE

from rumpus.checker.every_run.final_answers import check_final_answers
from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.exclusion.lock_delay import check_lock_delay
from rumpus.checker.exclusion.sequencers import ELSEWHERE, check_sequencers
from rumpus.checker.families.file_contents import check_file_contents
from rumpus.checker.families.generation_numbers import check_generation_numbers
from rumpus.checker.families.guarded_writes import check_guarded_writes
from rumpus.checker.families.handle_events import check_handle_events
from rumpus.checker.families.leases import check_leases
from rumpus.checker.families.missed_changes import check_missed_changes, written
from rumpus.checker.history import Op
from rumpus.checker.timeline.holds import Words
from rumpus.checker.znodes.handle_rights import check_handle_rights
from rumpus.harness.clients.client_body import ClientContext
from rumpus.harness.generators.generator import Invocation
from rumpus.harness.generators.script import Client, ScriptFunction, Step, Steps, until_ok
from rumpus.recipes.chubby.catalogue import CHUBBY
from rumpus.recipes.chubby.file_change import StaleSequencer
from rumpus.recipes.chubby.handle import GenerationMismatch
from rumpus.recipes.chubby.library import PRIMARY, Chubby
from rumpus.recipes.requests.deadline import Deadline
from rumpus.workloads.chubby.answers import (
    AclVersion,
    Added,
    Answered,
    Conflict,
    FileGrant,
    FileRead,
    FileStat,
    Gone,
    HoldProof,
    Recreated,
    Stored,
    Use,
    Validity,
    Version,
    Written,
)
from rumpus.workloads.chubby.files import (
    CHANGE_S,
    CHILDREN,
    KEYS,
    LOCK,
    READ_S,
    SERVERS,
    TEMPORARY,
    TOPICS,
)
from rumpus.workloads.chubby.member import Member, Mode, in_words
from rumpus.workloads.chubby.misuse import ALLOWED, CALLS, MISUSES
from rumpus.workloads.chubby.told import News
from rumpus.workloads.contests.contention import CUT_OFF_NS, ContentionWorkload
from rumpus.workloads.framework.checks import counted
from rumpus.workloads.framework.operation import Failed, Refused, operation
from rumpus.workloads.own.own_interfaces import OwnCell

WORDS: Final = Words()

AWAIT_S: Final = CUT_OFF_NS / 1e9 + 2.0
"""How long a client waits for an event: ``check_missed_changes`` judges the last ``CUT_OFF_NS``."""

PATIENT_S: Final = 4.0
"""How long most attempts to acquire wait: longer than a session lives without heartbeats."""

FINAL_TRIES: Final = 5
"""How often clients ask at least in the final phase."""

HEED_S: Final = 1.5
"""How long a holder waits for the event of a request in conflict with its hold."""

USES: Final = ("read", "dir", "write", "set-acl")
"""Calls of the handle of the temporary file, which others delete and create again."""

PROOFS: Final = ("verify", "verify", "verify", "read", "stat", "dir", "set-acl", ELSEWHERE)
"""Calls by which a sequencer is verified: the one that is there for that, the same of another file,
or others of a handle that has it."""

MOST_TRIES: Final = 100
"""More than any client needs to write in the final phase."""

REMEMBERED: Final = 4
"""How many of the latest holds send writes and are verified: some last, some have just ended."""


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


def _own_key(client: Client) -> str:
    return KEYS[client.number % len(KEYS)]


def _is_final(f: str, value: Any) -> bool:
    """Whether an operation is the write of a client in the final phase."""
    return f == "write" and value["data"].startswith("final")


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

    @operation()
    def release(self, member: Member, close: bool = False) -> None:
        """Release; if ``close``, by closing the handle."""
        if close:
            member.leave_by_closing()
        else:
            member.leave()

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

    @operation(timeout=AWAIT_S, changes=False)
    def gone(self, member: Member, timeout: float) -> Gone:
        """Wait until an event tells that the temporary file of our handle was deleted."""
        return {"gone": member.await_end(timeout)}

    @operation(timeout=HEED_S, changes=False)
    def heed(self, member: Member, timeout: float) -> Conflict:
        """As a holder, wait until an event tells of a request in conflict with the hold."""
        return {"waiting": member.await_conflict(timeout)}

    @operation(changes=False)
    def news(self, member: Member) -> News:
        """What the lock's handle was told of its session, and what it was not told of in time."""
        return member.news()

    @operation(timeout=READ_S, changes=False)
    def stat(self, member: Member, key: str, timeout: float) -> FileStat:
        """Read a file's generation numbers from the servers."""
        with member.using(key) as handle:
            found = handle.get_stat(timeout)
            return {
                "key": key,
                "opened": handle.opened.instance,
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
            generation = handle.set_acl(ALLOWED, timeout)
            return {
                "key": key,
                "instance": handle.opened.instance,
                "generation": generation,
                "acl": member.acl_of(key, Deadline(READ_S)),
                "allowed": [in_words(ALLOWED)],
            }

    @operation(timeout=CHANGE_S)
    def recreate(self, member: Member, timeout: float) -> Recreated:
        """Delete the temporary file, and create it again."""
        with member.using(TEMPORARY) as handle:
            opened = handle.opened.instance
            handle.delete(timeout)
        member.forget(TEMPORARY)
        with member.using(TEMPORARY) as handle:
            return {"key": TEMPORARY, "opened": opened, "instance": handle.opened.instance}

    @operation()
    def use(self, member: Member, call: str) -> Use:
        """Call a method of the temporary file's handle."""
        with member.using(TEMPORARY) as handle:
            CALLS[call](handle)
            return {"key": TEMPORARY, "opened": handle.opened.instance}

    @operation()
    def misuse(self, member: Member, state: str) -> Answered:
        """Make calls of a handle in a state in which they should be refused."""
        return {"answered": member.misuse(state)}

    @operation(timeout=CHANGE_S)
    def add(self, member: Member, child: str, timeout: float, listed: bool = False) -> Added:
        """Create another child of a file, with its parent's list or, if ``listed``, its own."""
        file, _ = TOPICS[CHILDREN]
        return member.add(file, child, READ_ACL_UNSAFE if listed else None, timeout)

    @operation(changes=False)
    def verify(self, member: Member, sequencer: str, by: str = "verify") -> Validity:
        """Ask whether a sequencer is valid, as a server does that has a session with the cell.

        It is asked for, or a handle that has the sequencer makes another call. Of another file it
        is never valid.
        """
        if by in ("verify", ELSEWHERE):
            with member.using(PRIMARY if by == "verify" else TEMPORARY) as handle:
                return {"valid": handle.check_sequencer(sequencer, READ_S)}
        with member.guarded(PRIMARY, sequencer) as handle:
            try:
                CALLS[by](handle)
            except StaleSequencer:
                return {"valid": False}
            return {"valid": True}

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
        former = None if reads or writes or client.before is None else client.before.f
        if former not in (None, "acquire", "release"):
            yield self.release()  # its outcome was unknown, and the client may have been a holder
        while not client.is_over:
            if reads:
                looks = draws.one_in(20)
                call = self.stat(key=PRIMARY) if looks else self.read(key=draws.choose(KEYS))
                yield from self._then_news(call)
            elif writes:
                yield from self._then_news(self._change(client))
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
        granted = yield from self._then_news(self.attempt(client))
        if granted.type != "ok":  # the client may be cut off: what does its cache say?
            yield from self._reads(client)
            return
        proof = _proof(granted)
        if proof is not None:
            client.shared.proofs.append(proof)
            if client.draws.one_in(3):
                by = ELSEWHERE if proof["token"] % 2 else "verify"
                yield self.verify(sequencer=proof["sequencer"], by=by)
            yield self._prove(client, proof)
        elif (sequencer := (granted.value or {}).get("sequencer")) and client.draws.one_in(2):
            yield self._store(client, HoldProof(token=0, sequencer=sequencer))
        if client.draws.one_in(2):
            yield from self._writes(client)
        if client.draws.one_in(12):
            yield self.heed()
        yield from self.hold(client, granted)
        yield from self.let_go(client, 1)

    def let_go(self, client: Client, depth: int) -> Steps:  # noqa: ARG002 - held once
        """Release; one holder in four closes its handle instead."""
        yield self.release(close=client.draws.one_in(4))

    def give_back(self, client: Client) -> Steps:
        """Heed those who wait, and release; every second client by closing its handle."""
        yield self.heed()
        yield self.release(close=client.number % 2 == 1)

    def _prove(self, client: Client, proof: HoldProof) -> Invocation:
        """A write that carries a sequencer: three at a storage server to one into the file."""
        if client.draws.one_in(4):
            return self.publish(key=PRIMARY, data=str(next(client.shared.values)), **proof)
        return self._store(client, proof)

    def _store(self, client: Client, proof: HoldProof) -> Invocation:
        server = client.draws.below(SERVERS)
        return self.store(server=server, value=next(client.shared.values), **proof)

    def _other(self, client: Client) -> Steps:
        """Something that needs no lock: one call, or some reads of one file in a row."""
        if client.draws.one_in(3):
            yield from self._reads(client)
        else:
            yield from self._then_news(self._other_call(client))

    def _reads(self, client: Client) -> Steps:
        key = client.draws.choose(KEYS)
        for _ in range(2 + client.draws.below(4)):
            yield from self._then_news(self.read(key=key))

    def _then_news(self, call: Invocation) -> Generator[Step, Op, Op]:
        """A call; if it fails, what was told of the session, which may be in jeopardy or over."""
        came = yield call
        if came.type == "fail" and came.error not in (None, TIMED_OUT):
            yield self.news()
        return came

    def _writes(self, client: Client) -> Steps:
        """Some changes in a row by a holder, so that files change while nobody else can hold."""
        for _ in range(1 + client.draws.below(4)):
            yield self._change(client)
            yield client.rest(0.0, 0.2)

    def _other_call(self, client: Client) -> Invocation:
        draws, known = client.draws, client.shared
        chosen = draws.weighted(
            (6, "change"),
            (5, "await"),
            (2, "stat"),
            (4, "prove"),
            (4, "verify"),
            (1, "gone"),
            (1, "news"),
        )
        if chosen == "await":
            topic = draws.choose(tuple(TOPICS))
            return self.await_(key=topic, version=known.versions.get(topic, 0))
        if chosen == "stat":
            return self.stat(key=draws.choose((*KEYS, TEMPORARY)))
        if chosen == "gone":
            return self.gone()
        if chosen == "news":
            return self.news()
        if chosen in ("prove", "verify") and known.proofs:
            proof = known.proofs[-1] if draws.one_in(2) else draws.choose(known.proofs)
            if chosen == "verify":
                return self.verify(sequencer=proof["sequencer"], by=draws.choose(PROOFS))
            return self._prove(client, proof)
        return self._change(client)

    def _change(self, client: Client) -> Invocation:
        """A change of a file: mostly a write, and of these every second one with a comparison."""
        draws, known = client.draws, client.shared
        key = draws.choose(KEYS)
        chosen = draws.weighted(
            (3, "write"),
            (3, "compare"),
            (1, "acl"),
            (1, "recreate"),
            (1, "add"),
            (1, "use"),
            (1, "misuse"),
        )
        if chosen == "acl":
            return self.set_acl(key=key)
        if chosen == "recreate":
            return self.recreate()
        if chosen == "add":
            return self.add(child=str(next(known.values)), listed=draws.one_in(2))
        if chosen == "use":
            return self.use(call=draws.choose(USES))
        if chosen == "misuse":
            return self.misuse(state=draws.choose(tuple(MISUSES)))
        expected = known.versions.get(key) if chosen == "compare" else None
        if expected and draws.one_in(4):
            expected -= 1  # it is to be refused
        patience = 0.5 if draws.one_in(6) else CHANGE_S
        data = str(next(known.values))
        return self.write(key=key, data=data, expected=expected, timeout=patience)

    # The final phase and the judgement.

    def final(self) -> list[ScriptFunction]:
        """As for every lock; then everybody reads, writes, reads, and waits for the last events.

        Every second client does so with the other file.
        """
        return [
            *super().final(),
            self._final_read,
            self._final_write,
            self._final_read,
            self._last_news,
        ]

    def _final_read(self, client: Client) -> Steps:
        yield from until_ok(self.read(key=_own_key(client)), FINAL_TRIES)(client)

    def _final_write(self, client: Client) -> Steps:
        """Write until it is done: until a change whose client died counts as abandoned, if need be.

        That takes three session timeouts.
        """
        write = self.write(key=_own_key(client), data=f"final {client.number}")
        tries = FINAL_TRIES + round(3 * client.context.session_timeout / CHANGE_S)
        yield from until_ok(write, tries)(client)

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
        check_handle_rights,
        partial(check_handle_events, bound_s=CUT_OFF_NS / 1e9),
        check_file_contents,
        check_guarded_writes,
        partial(check_missed_changes, bound_s=CUT_OFF_NS / 1e9, change=_raised),
        partial(check_final_answers, most_tries=MOST_TRIES, asked=_is_final, least=""),
    )
    needs = (
        *ContentionWorkload.needs,
        counted(10, "reads_from_cache", "file contents", "reads from the cache"),
        counted(10, "writes", "file contents", "writes of files"),
        counted(3, "compared_writes", "file contents", "writes with a generation check"),
        counted(3, "events", "file contents", "changes that a client was told of"),
        counted(len(TOPICS), "keys_told", "missed changes", "kinds of change that were told"),
        counted(3, "misuses", "handle rights", "states in which a handle was misused"),
        counted(1, "conflicts_told", "handle events", "conflicting requests that were told"),
        counted(10, "accepted", "guarded writes", "accepted writes with a sequencer"),
        # In 20 s of load there are some ten, but none or one where holders are frozen for long.
        counted(1, "called_valid", "sequencers", "sequencers called valid"),
        counted(1, "called_stale", "sequencers", "sequencers called stale"),
    )


def _proof(granted: Op) -> HoldProof | None:
    """What a writer's hold shows to others; None for a reader's, or if it has ended."""
    value: dict[str, Any] = granted.value or {}
    if value.get("token") is None or value.get("sequencer") is None:
        return None
    return {"token": value["token"], "sequencer": value["sequencer"]}


CHUBBY_WORKLOAD = ChubbyWorkload()
