"""The store's file: locked, killed, damaged, of other versions, and copied."""

import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest

from rumpus.nights.memory import store_file, store_schema
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.site import Site
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.usage_error import UsageError
from tests.rumpus.nights.conftest import failure, night, run

OLDEST = Path(__file__).with_name("store_version_1.sql")

WRITER = """
import sys
from pathlib import Path
from threading import Timer
from rumpus.nights.memory.store import Store
from tests.rumpus.nights.conftest import night, run
with Store.opened(Path(sys.argv[1]), write=True) as store:
    store.begin_night(night(1))
    for seed in range(10**9):
        store.note_run(night(1).name, run(seed, figures={"latency": 1.5}))
        print(seed, flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def writer(path):
    """A process that notes a run for every line that it gets, and tells its seed before."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_only_one_process_writes_and_others_read_meanwhile(path, writer):
    assert writer.stdout.readline() == "0\n"
    with (
        pytest.raises(StoreError, match=rf"another process writes it \(pid {writer.pid}\)"),
        Store.opened(path, write=True),
    ):
        pass
    with Store.opened(path) as reader:
        assert [each.seed for each in reader.runs(night(1).name)] == [0]
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "1\n"
        # It goes on seeing the state of the moment at which it began.
        assert len(reader.runs(night(1).name)) == 1
    with Store.opened(path) as reader:
        assert len(reader.runs(night(1).name)) == 2


def test_a_killed_process_loses_nothing_that_was_noted(path, writer):
    for seed in range(20):
        assert writer.stdout.readline() == f"{seed}\n"
        if seed < 19:
            writer.stdin.write("\n")
            writer.stdin.flush()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with Store.opened(path, write=True) as store:
        assert [each.seed for each in store.runs(night(1).name)] == list(range(20))
        assert store.rates()[0].outcomes == {"valid": 20}
        assert store.rates()[0].figures["latency"].count == 20
        assert store.unfinished() == night(1)
        store.note_run(night(1).name, run(20))
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_has_forked_does_not_keep_its_lock(path):
    script = WRITER.split("    for seed", maxsplit=1)[0] + (
        "    import os, time\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os.close(1); time.sleep(600); os._exit(0)\n"
        "    print(child, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    killed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    try:
        with Store.opened(path, write=True) as store:
            assert store.nights() == [night(1)]
    finally:
        os.kill(int(killed.stdout), signal.SIGKILL)


def test_a_forked_process_leaves_the_store_alone(path):
    """It unwinds through the block of its parent, which goes on writing."""
    parent, child = os.getpid(), None
    try:
        with Store.opened(path, write=True) as store:
            store.begin_night(night(1))
            child = os.fork()
            if child:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
                assert path.with_name(f"{path.name}.lock").read_text() == str(parent)
                store.note_run(night(1).name, run(1))
                assert store.runs(night(1).name) == [run(1)]
            else:
                Store.opened(path, write=True).__enter__()
    except StoreError:  # of the child, which is no owner of the store
        os._exit(7)
    finally:
        if os.getpid() != parent:
            os._exit(8)
    assert list(path.parent.iterdir()) == [path]


def test_a_process_that_is_killed_within_a_change_leaves_nothing_of_it(path):
    """The change is half done and in the log when the process dies."""
    script = WRITER.split("    for seed", maxsplit=1)[0] + (
        "    with store._file.change() as connection:\n"
        "        connection.execute('PRAGMA cache_size = 1')\n"
        "        connection.executemany(\"INSERT INTO subjects VALUES (NULL, ?, '')\",\n"
        "            [(str(n) * 500,) for n in range(2000)])\n"
        "        import os; os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Store.opened(path) as store:
        assert store.nights() == [night(1)]
        assert store._file.rows("SELECT COUNT(*) FROM subjects") == [(0,)]


def test_the_one_file_has_all_after_closing(path, tmp_path):
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
        store.note_run(night(1).name, run(1))
    assert list(path.parent.iterdir()) == [path]
    copy = tmp_path / "elsewhere" / "copy.sqlite"
    copy.parent.mkdir()
    shutil.copy(path, copy)
    with Store.opened(copy) as store:
        assert store.runs(night(1).name) == [run(1)]


def test_a_store_is_read_where_nothing_can_be_written(path, monkeypatch):
    """As in a directory of another user, or one that is mounted read-only."""
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
    monkeypatch.setattr(os, "access", lambda place, how: (place, how) != (path.parent, os.W_OK))
    with Store.opened(path) as store:
        assert store.nights() == [night(1)]
        assert list(path.parent.iterdir()) == [path]


def test_a_second_writer_in_the_same_process_is_refused(path, store):
    with (
        pytest.raises(StoreError, match=rf"pid {os.getpid()}\); wait until"),
        Store.opened(path, write=True),
    ):
        pass
    store.begin_night(night(1))


def test_reading_makes_no_file(path):
    with pytest.raises(UsageError, match="no nights yet: rumpus nightly makes them"):
        Store.opened(path).__enter__()
    assert not path.exists()
    path.touch()
    with pytest.raises(UsageError, match="no nights yet"):
        Store.opened(path).__enter__()


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 99, b"S" * 40])
def test_a_file_that_is_no_store_is_refused(path, content, write):
    path.write_bytes(content)
    with (
        pytest.raises(UnreadableRun, match=r"no store of nights, or is damaged .*move it out"),
        Store.opened(path, write=write),
    ):
        pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("write", [True, False])
def test_a_database_of_another_program_is_refused(path, write):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE nights (id)")
    with (
        pytest.raises(UnreadableRun, match="of another program; choose another --store FILE"),
        Store.opened(path, write=write),
    ):
        pass


def test_a_damaged_store_is_refused_whatever_is_asked_for(path):
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
        store.note_failure(failure())
        for seed in range(200):
            store.note_run(night(1).name, run(seed, failures=(failure().id,), outcome="violation"))
    whole = path.read_bytes()
    # All but the first page, which says that it is a database: of the second on nothing is left.
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    methods = [
        lambda store: store.nights(),
        lambda store: store.failures(),
        lambda store: store.runs(night(1).name),
        lambda store: store.rates(),
        lambda store: store.subjects_last(),
        lambda store: store.sightings(failure().id),
    ]
    for method in methods:
        with pytest.raises(UnreadableRun, match="damaged"), Store.opened(path) as store:
            method(store)
    with pytest.raises(UnreadableRun, match="damaged"), Store.opened(path, write=True) as store:
        store.begin_night(night(2))


def test_a_store_that_lacks_a_table_is_damaged(path):
    with Store.opened(path, write=True):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE failures")
    with pytest.raises(UnreadableRun, match="no such table"), Store.opened(path) as store:
        store.failures()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x"


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (f"DROP TABLE failures; CREATE VIEW failures AS {ENDLESS} AS id FROM n", "view 'failures'"),
        ("CREATE TRIGGER t AFTER INSERT ON nights BEGIN DELETE FROM runs; END", "trigger 't'"),
        ("CREATE VIRTUAL TABLE searched USING fts5(words)", "virtual table 'searched'"),
        ("CREATE INDEX i ON nights (length(hex(zeroblob(499999999 + 0 * id))))", "index 'i'"),
        ("CREATE INDEX i ON nights (id) WHERE instr(zeroblob(8), name)", "index 'i'"),
        ("ALTER TABLE nights ADD COLUMN more AS (zeroblob(1e9))", "table 'nights' is not as"),
        ("ALTER TABLE nights ADD COLUMN more DEFAULT (zeroblob(1e9))", "table 'nights' is not"),
        ("ALTER TABLE nights ADD COLUMN more CHECK (instr(name, 'x'))", "table 'nights' is not"),
        ("CREATE TABLE more (id)", "table 'more'"),
        ("DROP INDEX runs_by_batch", "no such index: runs_by_batch"),
        ("ANALYZE", "table 'sqlite_stat1'"),
        ("PRAGMA user_version = -1", "of version -1"),
        ("PRAGMA user_version = 0", "it has the"),
    ],
)
def test_a_store_that_declares_anything_else_is_refused(path, write, sql, what):
    with Store.opened(path, write=True):
        pass
    with sqlite3.connect(path) as connection:
        connection.executescript(sql)
    with pytest.raises(UnreadableRun, match=what), Store.opened(path, write=write):
        pass


def test_a_value_of_gigabytes_is_not_made(path):
    with Store.opened(path, write=True) as store:
        with pytest.raises(UnreadableRun, match="too big"):
            store._file.rows("SELECT length(hex(zeroblob(499999999)))")
        assert store.nights() == []


@pytest.mark.parametrize("version", range(1, store_schema.newest()))
def test_a_store_of_each_older_version_is_brought_up_to_date(path, version):
    with sqlite3.connect(path) as connection:
        for _, sql in store_schema.steps(0, version):
            connection.executescript(sql)
        connection.execute(f"PRAGMA application_id = {store_schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")
    with Store.opened(path) as store:
        assert store._file.version() == store_schema.newest()


def test_a_query_that_takes_too_long_is_ended(path, monkeypatch):
    monkeypatch.setattr(store_file, "LONGEST_S", 0.1)
    with Store.opened(path, write=True) as store:
        with pytest.raises(UnreadableRun, match=r"took more than 0\.1 seconds"):
            store._file.rows(f"{ENDLESS} FROM n WHERE x < 0")
        with pytest.raises(UnreadableRun, match="took more"), store._file.change() as connection:
            connection.execute(f"{ENDLESS} FROM n WHERE x < 0").fetchall()
        assert store.nights() == []


def test_a_signal_is_heard_during_a_query(path):
    with Store.opened(path, write=True) as store:
        Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            store._file.rows(f"{ENDLESS} FROM n WHERE x < 0")
        assert store.nights() == []


@pytest.mark.parametrize("write", [True, False])
def test_a_directory_is_refused(tmp_path, write):
    with pytest.raises((StoreError, UnreadableRun)), Store.opened(tmp_path, write=write) as store:
        store.nights()


OPENER = """
import sys
from pathlib import Path
from rumpus.nights.memory.store import Store
from rumpus.results.store_error import UnreadableRun
for path in sys.argv[1:]:
    for write in (True, False):
        try:
            Store.opened(Path(path), write=write).__enter__()
        except UnreadableRun as error:
            print(error)
"""


def test_a_journal_that_names_another_file_is_refused_and_that_file_stays(tmp_path):
    """SQLite plays a hot journal back, and then removes the super-journal that it names."""
    victim = tmp_path / "victim"
    victim.touch()
    path = tmp_path / "nights.sqlite"
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
    name, mark = bytes(victim), bytes.fromhex("d9d505f920a163d7")
    head = (mark + struct.pack(">IIIII", 0, 1, path.stat().st_size // 4096, 512, 4096)).ljust(512)
    tail = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name)) + mark
    path.with_name("nights.sqlite-journal").write_bytes(head + tail)
    link = tmp_path / "elsewhere" / "nights.sqlite"
    link.parent.mkdir()
    link.symlink_to(path)  # SQLite has its journal beside what the link leads to
    for write in (True, False):
        for each in (path, link):
            with (
                pytest.raises(UnreadableRun, match="its journal is of several databases"),
                Store.opened(each, write=write),
            ):
                pass
    assert victim.exists()


def test_a_pipe_is_refused_before_anybody_waits_for_it(tmp_path):
    """Neither the store may be one, nor what SQLite keeps beside it."""
    paths, pipes = [], []
    for end in ("", "-wal", "-shm", "-journal"):
        path = tmp_path / f"store{end}.sqlite"
        with Store.opened(path, write=True):
            pass
        pipe = path.with_name(f"{path.name}{end}")
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        paths.append(path)
        pipes += [pipe, pipe]
    # In a process of its own: while SQLite waits no signal is handled.
    command = [sys.executable, "-c", OPENER, *map(str, paths)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    assert said.splitlines() == [
        f"{pipe}: cannot use the store of nights (it is a pipe or a device); "
        "choose another --store FILE"
        for pipe in pipes
    ]


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("outcomes SET runs = 20000000", "outcomes .* from 0 to 10,000,000"),
        ("outcomes SET runs = 'x'", "outcomes"),
        ("outcomes SET runs = 1.5", "outcomes"),
        ("outcomes SET runs = -1", "outcomes"),
        ("outcomes SET seconds = 'x'", "outcomes"),
        ("sightings SET runs = -9e999", "sightings"),
        ("figure_sums SET count = 'x'", "figure_sums"),
        ("figure_sums SET count = 9e999", "figure_sums"),
        ("figure_sums SET count = 9223372036854775807", "figure_sums"),
        ("figure_sums SET total = 9e999", "figure_sums"),
        ("figure_sums SET squares = -1", "figure_sums"),
        ("batches SET last_at = 'x'", "batches"),
        ("batches SET role = x'00'", "batches"),
        ("subjects SET key = CAST(key AS BLOB)", "subjects"),
        ("sources SET source = x'00'", "sources"),
        ("failures SET kept_case = CAST('{}' AS BLOB)", "failures .* cases are text"),
        ("failures SET identifier = CAST(identifier AS BLOB)", "failures"),
    ],
)
def test_counts_and_sums_that_no_program_writes_are_damage(path, change, words, write):
    oldest(path)
    with Store.opened(path, write=True) as store:
        assert store.nights()
    with sqlite3.connect(path) as connection:
        assert connection.execute(f"UPDATE {change}").rowcount > 0
    with (
        pytest.raises(UnreadableRun, match=f"damaged .a row of the table {words}"),
        Store.opened(path, write=write),
    ):
        pass


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("asked", '{{"worlds": [{{"a": {}}}]}}'),
        ("counts", '{{"runs": {}}}'),
        ("troubles", '[{{"kind": "world", "what": "", "runs": {}}}]'),
    ],
)
def test_a_number_that_nothing_can_keep_is_damage(path, column, value, number):
    oldest(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE nights SET {column} = ?", [value.format(number)])
    with Store.opened(path) as store, pytest.raises(UnreadableRun, match="more than 64 bits"):
        store.nights()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE nights SET {column} = ?", [value.format(2**63 - 1)])
    with Store.opened(path) as store:
        assert store.nights()


@pytest.mark.parametrize("write", [True, False])
def test_a_store_of_a_newer_program_is_refused(path, write):
    with Store.opened(path, write=True):
        pass
    newer = store_schema.newest() + 1
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")
    with (
        pytest.raises(UsageError, match=f"of version {newer}, and this rumpus knows version"),
        Store.opened(path, write=write),
    ):
        pass


def oldest(path):
    """A store of the oldest version, as the program of that version wrote it."""
    with sqlite3.connect(path) as connection:
        connection.executescript(OLDEST.read_text())
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


@pytest.mark.parametrize("write", [True, False])
def test_a_store_of_the_oldest_version_is_read(path, write):
    oldest(path)
    with Store.opened(path, write=write) as store:
        assert store._file.version() == store_schema.newest()
        assert [each.name for each in store.nights()] == [night(2).name, night(1).name]
        (known,) = store.failures()
        assert known.runs == 2
        assert known.case is not None
        assert [each.seed for each in store.runs(night(1).name)] == [1, 2]
        assert store.sightings(known.id) == [(night(2).name, 1, 1), (night(1).name, 1, 2)]
        assert store.subjects_last()["lock / fair, sim"].source == "s1"
        assert store.canary_past() == {"greedy": (1, 1)}
        assert store.rates()[0].figures["latency"].count == 2


@pytest.mark.parametrize("write", [True, False])
def test_a_store_is_brought_up_to_date(path, write, monkeypatch):
    oldest(path)
    sql = "ALTER TABLE nights ADD COLUMN weather TEXT NOT NULL DEFAULT 'fair'"
    newest = store_schema.newest()
    monkeypatch.setattr(store_schema, "MIGRATIONS", {**store_schema.MIGRATIONS, newest: sql})
    with Store.opened(path, write=write) as store:
        assert store._file.version() == newest + 1
        assert store._file.rows("SELECT DISTINCT weather FROM nights") == [("fair",)]
        assert len(store.nights()) == 2


def test_a_step_that_fails_leaves_the_store_as_it_was(path, monkeypatch):
    oldest(path)
    newest = store_schema.newest()
    sql = "CREATE TABLE weather (id); DELETE FROM nights; INSERT INTO nowhere VALUES (1)"
    monkeypatch.setattr(store_schema, "MIGRATIONS", {**store_schema.MIGRATIONS, newest: sql})
    with pytest.raises(UnreadableRun, match="nowhere"), Store.opened(path, write=True):
        pass
    monkeypatch.undo()
    with Store.opened(path) as store:
        assert len(store.nights()) == 2
        assert store._file.rows("SELECT 1 FROM sqlite_schema WHERE name = 'weather'") == []


@pytest.mark.parametrize("end", [".lock", "-wal", "-journal", "-shm"])
def test_a_link_beside_the_store_changes_nothing_elsewhere(path, tmp_path, end):
    oldest(path)
    mine = tmp_path / "mine"
    mine.write_text("words of mine")
    path.with_name(path.name + end).symlink_to(mine)
    with suppress(StoreError), Store.opened(path):  # which brings it up to date
        pass
    assert mine.read_text() == "words of mine"


def test_a_query_that_finds_more_than_the_file_has_room_for_is_damage(path, monkeypatch):
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1))
    many = (
        "WITH RECURSIVE more(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM more WHERE n < 100) "
        "SELECT n FROM more"
    )
    with Store.opened(path) as store:
        monkeypatch.setattr(store_file, "_FEW_ROWS", 10)
        monkeypatch.setattr(store_file, "_LEAST_ROW", 1 << 30)  # as if each row took a gigabyte
        with pytest.raises(UnreadableRun, match="more than it has room for"):
            store._file.rows(many)
        monkeypatch.undo()
        monkeypatch.setattr(store_file, "_LITTLE", 1 << 20)
        assert len(store._file.rows(many)) == 100
        with pytest.raises(UnreadableRun, match="more than it has room for"):
            store._file.rows(f"SELECT *, '{'long' * 10_000}' FROM ({many})")


def test_a_long_text_that_many_rows_have_in_common_is_in_memory_once(path):
    with Store.opened(path, write=True) as store:
        store.begin_night(night(1, branch="b" * 100_000))
        for number in range(200):
            other = {"name": f"{number}", "versions": {"kazoo": "2" * 100_000}}
            store.note_run(night(1).name, run(number, **other))
    with Store.opened(path) as store:
        tracemalloc.start()
        try:
            pages = list(Site(gather(store)).pages())
            assert [page.made_of() for page in pages if page.made_of]
            found = store.rates(), store.runs(night(1).name), store.subjects_last()
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert [len(each) for each in found] == [200, 200, 1]
    assert most < 5_000_000
