"""The file of the store of nights: opened, locked, migrated, and its errors said in words.

It is written by one process at a time, which holds a lock on a file beside it; the lock ends with
the process, however that ends. Readers take no lock and are never blocked, nor do they block the
writer: SQLite's write-ahead log gives each of them the state of a moment.
"""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import getsizeof
from typing import Any, Final, Self

from rumpus.checker.untrusted_file import other_than_file
from rumpus.nights.memory import store_schema
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.usage_error import UsageError

_PATIENCE_S: Final = 10.0  # for the moments in which SQLite itself locks the file

_OF_HOST: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
    }
)
"""SQLite's errors for which the host is at fault, not the file's content."""

_OF_PROGRAM: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT})
"""Errors in what SQLite is asked for, unless it lacks a table: then the file does."""

LONGEST_S: Final = 300.0
"""Seconds that a query, or a transaction, may take. A store of a year is read in one second."""

_OF_SEVERAL: Final = bytes.fromhex("d9d505f920a163d7")
"""The mark at the end of a journal that names its super-journal."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""How the names of SQLite's own files go on, after that of the file."""

_LARGEST_VALUE: Final = 64 << 20
"""Bytes of the largest text, blob or row that SQLite may make: usually a gigabyte, and a query can
make several. The largest that a night writes is its document: a megabyte."""

_STEPS: Final = 100_000
"""Instructions of SQLite after which it lets Python run: a millisecond."""

_CHECK: Final = "check the path and the space there, or choose another --store FILE"

_HELD: Final[dict[str, int]] = {}
"""The locks that this process has, or had when it was forked, and whose they are."""

NO_NIGHTS: Final = "no nights yet: rumpus nightly makes them"


_FEW_ROWS: Final = 10_000
_LEAST_ROW: Final = 4
"""Bytes of a file for each row that a query finds. A damaged tree of SQLite's may be a net, in
which one page is reached a thousand times."""

_LITTLE: Final = 128 << 20
_MOST_OF_FILE: Final = 8
"""Bytes of memory that a query may find, in all, and for each byte of the file: what joins tables
finds one long text again with each row."""


class StoreFile:
    """An open file of SQLite that has the store's tables. For one thread.

    Args:
        path: the file.
        connection: to it, without transactions of its own.

    Attributes:
        owner: the process that has opened it. One that is forked from it must not use it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.owner = os.getpid()
        self._connection = connection
        self._deadline = 0.0
        # Without it a signal would be handled only after the query, and that may be never.
        connection.set_progress_handler(self._is_late, _STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        """Errors of SQLite in words; what takes more than `LONGEST_S` is ended.

        Raises:
            KeyboardInterrupt: a signal came meanwhile.
        """
        self._deadline = time.monotonic() + LONGEST_S
        with _in_words(self.path):
            try:
                yield
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                if not self._is_late():  # a signal's handler has raised in `_is_late`
                    raise KeyboardInterrupt from error
                raise UnreadableRun(
                    self.path,
                    f"a query of the store of nights took more than {LONGEST_S:g} seconds",
                    "move it out of the way and begin anew",
                ) from error

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, *, write: bool) -> Iterator[Self]:
        """The file, as long as the context lasts.

        Args:
            path: the file.
            write: whether to write: it is made, or migrated, and locked against other writers.

        Raises:
            UsageError: there is nothing to read, or a newer program has written it.
            StoreError: another process writes, or the host does not allow it.
            UnreadableRun: it is no store, or is damaged.
        """
        # SQLite follows a link, and then finds its own files beside what that leads to.
        real = Path(os.path.realpath(path))
        _refuse_pipes(real)
        _refuse_foreign_journal(real)
        if write:
            with _locked(real), cls._connected(path, f"{_uri(real)}?mode=rwc") as file:
                file._bring_up_to_date()  # noqa: SLF001 - its own
                yield file
                if os.getpid() == file.owner:
                    file.checkpoint()
            return
        if not path.exists() or (path.is_file() and not path.stat().st_size):
            raise UsageError(f"{path}: {NO_NIGHTS}")
        # Where nothing can be written SQLite cannot share a log; without one there is nobody to
        # share with, and the file is whole.
        log = real.with_name(f"{real.name}-wal")
        alone = not os.access(real.parent, os.W_OK) and not log.exists()
        with cls._connected(path, f"{_uri(real)}?mode=ro{'&immutable=1' * alone}") as file:
            old = file.version() < store_schema.newest()
            if not old:
                file.rows("BEGIN")  # so that all queries see the state of one moment
                yield file
        if old:
            with cls.opened(path, write=True) as file:
                yield file

    @classmethod
    @contextlib.contextmanager
    def _connected(cls, path: Path, uri: str) -> Iterator[Self]:
        with _in_words(path):
            connection = sqlite3.connect(
                uri, uri=True, timeout=_PATIENCE_S, isolation_level=None, cached_statements=256
            )
        file = cls(path, connection)
        try:
            yield file
        finally:
            if os.getpid() == file.owner:  # SQLite's connections do not outlive a fork
                connection.close()

    def version(self) -> int:
        """The version of its tables; 0 if it has none.

        Raises:
            UsageError: a newer program has written it.
            UnreadableRun: it is no store.
        """
        ((version,),) = self.rows("PRAGMA user_version")
        ((application,),) = self.rows("PRAGMA application_id")
        ((tables,),) = self.rows("SELECT COUNT(*) FROM sqlite_schema")
        if (tables or version) and application != store_schema.APPLICATION_ID:
            raise UnreadableRun(
                self.path, "it is a database of another program", "choose another --store FILE"
            )
        if version > store_schema.newest():
            raise UsageError(
                f"{self.path}: it is of version {version}, and this rumpus knows version "
                f"{store_schema.newest()}: use the newer rumpus that has written it, or another "
                "--store FILE"
            )
        if version < 0:
            raise damaged(self.path, f"it is of version {version}")
        self._refuse_programs(version)
        return int(version)

    def _refuse_programs(self, version: int) -> None:
        """Refuse a file that declares anything else than the program of its version did.

        Much of what a table may declare is computed when it is read or written: views, triggers,
        checks, defaults, indexes of expressions. One expression may take gigabytes, or never end
        and not even let signals through.

        Raises:
            UnreadableRun: something was added, changed or removed.
        """
        expected = store_schema.objects(version)
        found = store_schema.as_objects(
            self.rows(f"{store_schema.OBJECTS} LIMIT {len(expected) + 1}")
        )
        for (kind, name), declared in found.items():
            if (kind, name) not in expected:
                virtual = "virtual " * declared[1].startswith("CREATE VIRTUAL")
                raise damaged(self.path, f"it has the {virtual}{kind} {name!r}")
            if declared != expected[kind, name]:
                raise damaged(self.path, f"its {kind} {name!r} is not as rumpus makes it")
        for kind, name in sorted(expected.keys() - found.keys(), reverse=True):
            raise damaged(self.path, f"no such {kind}: {name}")

    def _bring_up_to_date(self) -> None:
        version = self.version()
        with self._bounded():
            if not version:  # has no effect once there is a table
                self._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
        for reached, sql in store_schema.steps(version):
            with self.change() as connection:
                for statement in sql.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {store_schema.APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {reached}")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a query finds.

        Raises:
            StoreError: it cannot be read.
            UnreadableRun: it is damaged.
        """
        found: list[tuple[Any, ...]] = []
        most_rows, most_bytes, taken = _FEW_ROWS, _LITTLE, 0
        with self._bounded():
            for row in self._connection.execute(sql, values):
                found.append(row)
                taken += sum(map(getsizeof, row))
                if len(found) > most_rows or taken > most_bytes:
                    size = self._bytes()
                    most_rows = max(most_rows, size // _LEAST_ROW)
                    most_bytes = max(most_bytes, size * _MOST_OF_FILE)
                    if len(found) > most_rows or taken > most_bytes:
                        raise UnreadableRun(
                            self.path,
                            "it is damaged: a query finds more than it has room for",
                            "move it out of the way and begin anew",
                        )
        return found

    def _bytes(self) -> int:
        """The size of the file, with that of its log."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(each.stat().st_size for each in (self.path, log) if each.exists())

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is done, or after an error, or a kill, nothing.

        Raises:
            StoreError: it cannot be written.
            UnreadableRun: it is damaged.
        """
        with self._bounded():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                # SQLite itself may have ended it: after a full disk, for example.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def checkpoint(self) -> None:
        """Take what stands in the log into the file, so that the one file has all.

        If a reader is still at work, its log stays for the next one who closes the file.
        """
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def shrink(self) -> None:
        """Give back the space of what was removed."""
        with self._bounded():
            # It gives back a page for each step, and only a script is stepped to its end.
            self._connection.executescript("PRAGMA incremental_vacuum")


def _refuse_pipes(path: Path) -> None:
    """Refuse what SQLite would wait for without end, also in the places of its own files.

    Only their status is asked for: to close a file ends all locks that the process has on it.

    Raises:
        UnreadableRun: something that is no regular file has the name of one.
    """
    for each in (path, *(path.with_name(f"{path.name}{end}") for end in _BESIDE)):
        with contextlib.suppress(OSError):  # SQLite says what is wrong with such a path
            if what := other_than_file(each.stat().st_mode):
                raise UnreadableRun(
                    each,
                    f"cannot use the store of nights (it is {what})",
                    "choose another --store FILE",
                )


def _refuse_foreign_journal(path: Path) -> None:
    """Refuse a journal that names another file: SQLite would play it back, and remove that file.

    A journal ends with the name of its super-journal, and this mark, if several databases were
    changed at once (https://www.sqlite.org/fileformat.html, 3. The Rollback Journal), which ours
    never are.

    Raises:
        UnreadableRun: it does.
    """
    journal = path.with_name(f"{path.name}-journal")
    with contextlib.suppress(OSError), journal.open("rb") as file:
        file.seek(-len(_OF_SEVERAL), os.SEEK_END)
        if file.read() != _OF_SEVERAL:
            return
        raise UnreadableRun(
            journal,
            "cannot use the store of nights (its journal is of several databases, and names a file "
            "that SQLite would remove)",
            "remove the journal, if you trust who made the store",
        )


def _uri(path: Path) -> str:
    return path.absolute().as_uri()


@contextlib.contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors that say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        damage = str(error).startswith(("no such", "integer overflow", "malformed JSON"))
        if code is None or (code & 0xFF in _OF_PROGRAM and not damage):
            raise
        if code & 0xFF in _OF_HOST:
            raise StoreError(path, f"cannot use the store of nights ({error})", _CHECK) from error
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception | str) -> UnreadableRun:
    """The error for a file that has what no program has written."""
    return UnreadableRun(
        path,
        f"it is no store of nights, or is damaged ({error})",
        "bring back a copy of it, or move it out of the way and begin anew",
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Be the only process that writes the file."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place = str(lock.absolute())
        descriptor = _lock(path, lock, place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(lock, f"cannot lock the store of nights ({reason})", _CHECK) from error
    owner = _HELD[place] = os.getpid()
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(owner).encode())
        yield
    finally:
        if os.getpid() == owner:  # a forked process has no lock
            lock.unlink(missing_ok=True)
            del _HELD[place]
        os.close(descriptor)


def _lock(path: Path, lock: Path, place: str) -> int:
    """A descriptor of the lock's file that is locked, and is what has its name.

    Locks of POSIX are the process's own: those that it forks do not keep them after its death. But
    a process does not exclude itself, and loses its lock with the first descriptor that it closes.
    A link is not followed: what it leads to would be emptied.
    """
    if place in _HELD:
        raise _taken(path, str(_HELD[place]))
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            who = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise _taken(path, who) from error
        # Whoever had it before may have removed the file since it was opened here.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)


def _taken(path: Path, who: str) -> StoreError:
    return StoreError(
        path,
        f"another process writes it (pid {who or 'not known yet'})",
        "wait until that has ended, or choose another --store FILE",
    )
