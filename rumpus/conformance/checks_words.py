"""Checks 70 to 73, and 101: the four-letter words."""

import re

from rumpus.conformance import operations as op
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done


@check(70, "ruok is answered imok; after a handshake the same bytes end the connection")
def ruok(visit: Visit) -> None:
    same(visit.word("ruok"), "imok")
    client = visit.session()
    client.send_bytes(b"ruok")
    assert client.closed_silently(), "not closed, or not silently"


@check(71, "srvr tells version, latency, packets, connections, zxid, mode and znodes, in order")
def srvr(visit: Visit) -> None:
    wanted = (
        r"Zookeeper version: .+, built on .+",
        r"Latency min/avg/max: \d+/\d+(\.\d+)?/\d+",
        r"Received: \d+",
        r"Sent: \d+",
        r"Connections: \d+",
        r"Outstanding: \d+",
        r"Zxid: 0x[0-9a-f]+",
        r"Mode: standalone",
        r"Node count: \d+",
    )
    lines = visit.word("srvr").splitlines()
    same(len(lines), len(wanted))
    for line, pattern in zip(lines, wanted, strict=True):
        assert re.fullmatch(pattern, line), f"{line!r} is not {pattern!r}"
    zxid = visit.session().call(op.ping()).zxid
    same(visit.zxid("n1"), zxid)


@check(72, "wchs counts data watches only")
def wchs(visit: Visit) -> None:
    def counted() -> list[int]:
        return [int(number) for number in re.findall(r"\d+", visit.word("wchs"))]

    assert re.fullmatch(
        r"\d+ connections watching \d+ paths\nTotal watches:\d+\n?", visit.word("wchs")
    ), visit.word("wchs")
    before = counted()
    client = visit.session()
    done(client.call(op.get_children("/", watch=True)))
    same(counted(), before)
    done(client.call(op.get_data("/", watch=True)))
    same(counted(), [number + 1 for number in before])


@check(73, "isro is answered rw; mntr has a key and a value a line, version and state first")
def isro_and_mntr(visit: Visit) -> None:
    same(visit.word("isro"), "rw")
    lines = visit.word("mntr").splitlines()
    keys = [line.split("\t")[0] for line in lines]
    assert all(re.fullmatch(r"zk_[^\t]+\t.*", line) for line in lines), lines
    same(keys[:2], ["zk_version", "zk_server_state"])


@check(101, "envi tells the version, the host, and Java's and the system's properties, in order")
def envi(visit: Visit) -> None:
    title, *lines = visit.word("envi").splitlines()
    same(title, "Environment:")
    same(
        [line.partition("=")[0] for line in lines],
        ["zookeeper.version", "host.name"]
        + [f"java.{each}" for each in ("version", "vendor", "home", "class.path", "library.path")]
        + ["java.io.tmpdir", "java.compiler"]
        + [f"os.{each}" for each in ("name", "arch", "version")]
        + [f"user.{each}" for each in ("name", "home", "dir")]
        + [f"os.memory.{each}" for each in ("free", "max", "total")],
    )
    version = lines[0].partition("=")[2]
    assert re.match(r"\d+\.\d+\.\d+", version), f"no version: {version!r}"
    same(visit.word("srvr").splitlines()[0], f"Zookeeper version: {version}")
