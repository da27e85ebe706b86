"""A PostgreSQL server for the tests: of Debian's package, on a free port, with data of its own."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: pip install 'psycopg[binary]'")

TABLE = Path(__file__).resolve().parents[1] / "ledger" / "leases.sql"


def _program(name):
    """Where a program of the server is: Debian keeps them out of the path."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join(map(str, [*places, os.environ.get("PATH", "")]))
    return shutil.which(name, path=path)


@pytest.fixture(scope="session")
def postgresql():
    """The server's address, ``127.0.0.1:PORT``."""
    if _program("postgres") is None or _program("initdb") is None:
        pytest.skip("needs a PostgreSQL server: apt install postgresql")
    # It refuses to run as root.
    user = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    place = Path(tempfile.mkdtemp(prefix="ledger-"))
    if user:
        shutil.chown(place, **user)
    data = ["-D", str(place / "data")]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = (place / "log").open("wb")
    try:
        initdb = [_program("initdb"), *data, "-A", "trust", "-U", "postgres", "--no-sync"]
        subprocess.run(initdb, check=True, cwd=place, stdout=log, stderr=log, **user)
        settings = ["listen_addresses=127.0.0.1", f"port={port}", "fsync=off"]
        options = [word for each in settings for word in ("-c", each)]
        server = subprocess.Popen(
            [_program("postgres"), *data, "-k", "", *options],
            cwd=place,
            stdout=log,
            stderr=log,
            **user,
        )
        try:
            _make_table(port, server)
            yield f"127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGINT)  # it hangs up on clients and ends
            server.wait(30)
    finally:
        log.close()
        shutil.rmtree(place)


def _make_table(port, server):
    """Wait until the server answers, and make the table of leases."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres") as connection:
                connection.execute(TABLE.read_text())
                return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
