"""Lines of contenders that nobody has declared, derived from what grants made on the servers."""

from rumpus.checker.servers.commitment import Commitment
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.derived_line import DerivedLine, derive_line
from rumpus.checker.timeline.holds import Words, extract_holds
from tests.checker.recorded import Recorded

PARENT = "/r/l"


class Servers:
    """Their log, and the history of clients whose session is 0x1, 0x2, ...; times are in ms."""

    def __init__(self, clients=3):
        self.log = []
        self.links = {}
        self.recorded = Recorded(clients)
        for client in range(clients):
            self.recorded.session(0, client, "connected", session=f"0x{client + 1}")

    def create(self, ms, client, path, ephemeral=True, session=1):
        self._log(ms, client, 1, "create", session, path=path, data=b"", ephemeral=ephemeral)

    def close(self, ms, client, session):
        self._log(ms, client, -11, "closeSession", session)

    def delete(self, ms, client, path):
        self._log(ms, client, 2, "delete", path=path)

    def _log(self, ms, client, kind, name, session=1, **fields):
        zxid = len(self.log) + 1
        self.log.append(Txn(zxid, client + session, zxid, ms, kind, name, **fields))

    def hold(self, client, called, granted, released):
        self.recorded.acquire(called, granted, client).release(released, released + 5, client)

    def refused(self, client, called, returned):
        self.recorded.add(called, client, "invoke", "acquire", {"timeout": 0.1})
        self.recorded.add(returned, client, "fail", "acquire", error="timed out")

    def line(self, permits=1, clock=None):
        self.recorded.ops.sort(key=lambda op: op.time)
        history = self.recorded.history().with_sessions(self.links)
        committed = tuple(sorted(self.log, key=lambda txn: txn.zxid))
        truth = ServerTruth(
            Commitment(committed=committed, discarded=(), uncertain=(), reasons=(), forked=())
        )
        return derive_line(
            truth,
            clock or WallClock([(0, 0)]),
            history,
            extract_holds(history, Words()),
            Words(),
            path="/r",
            permits=permits,
        )


def queue(servers, *, name="{mark}-lock-{number:010d}", in_turn=True, session=1, ends=None):
    """Three clients queue in a folder: each comes while the one before it holds.

    ``session``: of the first client; ``ends``: when, in ms after a client came, its session does.
    """
    for number in range(3):
        servers.create(
            100 * number + 20,
            number,
            f"{PARENT}/{name.format(mark=number, number=number)}",
            session=session,
        )
        if ends is not None:
            servers.close(100 * number + ends, number, session)
        elif number:
            servers.delete(
                100 * number + 30,
                number - 1,
                f"{PARENT}/{name.format(mark=number - 1, number=number - 1)}",
            )
        granted = 100 * number + (40 if in_turn else 22)
        servers.hold(number, 100 * number + 10, granted, 100 * number + 125)


def test_a_queue_is_found_by_its_numbers_and_what_its_names_share():
    servers = Servers()
    queue(servers)
    found = servers.line()
    assert isinstance(found, DerivedLine)
    assert (found.kind, found.path, found.mark) == ("sequential", PARENT, "-lock-")
    paths = {number: life.path for number, life in found.nodes.items()}
    assert paths == {n: f"{PARENT}/{n}-lock-{n:010d}" for n in range(3)}


def test_a_program_may_queue_in_a_session_of_its_own():
    """What the links saw of it; the grant names the session of the client that it was given."""
    servers = Servers()
    servers.links = {"0x4": 0, "0x5": 1, "0x6": 2}
    queue(servers, session=4)
    found = servers.line()
    assert isinstance(found, DerivedLine)
    assert [life.owner for life in found.nodes.values()] == ["0x4", "0x5", "0x6"]


def test_what_another_session_made_that_ended_before_the_grant_is_not_granted():
    servers = Servers()
    servers.links = {"0x4": 0, "0x5": 1, "0x6": 2}
    queue(servers, session=4, ends=35)
    found = servers.line()
    assert found == "most grants made no ephemeral znode below /r that stayed until the release"


def test_grants_out_of_turn_show_no_queue():
    servers = Servers()
    queue(servers, in_turn=False)
    assert servers.line() == (
        f"clients made their znodes in {PARENT} before they were granted, and in no order"
    )


def test_one_path_that_all_make_is_found_behind_the_places_of_those_who_wait():
    servers = Servers()
    for number in range(3):
        ticket = f"{PARENT}/ticket-{number:010d}"
        start = 100 * number
        servers.create(start + 10, number, ticket)
        servers.create(start + 20, number, f"{PARENT}/holder")
        servers.hold(number, start + 5, start + 30, start + 60)
        servers.delete(start + 62, number, f"{PARENT}/holder")
        servers.delete(start + 63, number, ticket)
    found = servers.line()
    assert isinstance(found, DerivedLine)
    assert (found.kind, found.path) == ("single", f"{PARENT}/holder")


def leases(servers, *, before=False):
    """Two clients at a time have a lease, and the third gets one when the first goes.

    ``before``: it makes its znode as soon as it comes, and waits.
    """
    servers.create(10, 0, f"{PARENT}/a")
    servers.hold(0, 5, 15, 100)
    servers.create(20, 1, f"{PARENT}/b")
    servers.hold(1, 18, 25, 200)
    if before:
        servers.create(50, 2, f"{PARENT}/c")
        servers.delete(102, 0, f"{PARENT}/a")
    else:
        servers.delete(102, 0, f"{PARENT}/a")
        servers.create(110, 2, f"{PARENT}/c")
    servers.hold(2, 45, 120, 300)


def test_leases_are_a_pool():
    servers = Servers()
    leases(servers)
    found = servers.line(permits=2)
    assert isinstance(found, DerivedLine)
    assert (found.kind, found.path, len(found.nodes)) == ("pool", PARENT, 3)


def test_a_lease_too_many_is_still_one_of_a_pool():
    servers = Servers(4)
    leases(servers)
    servers.create(130, 3, f"{PARENT}/d")
    servers.hold(3, 125, 135, 180)
    found = servers.line(permits=2)
    assert isinstance(found, DerivedLine)
    assert found.kind == "pool"


def test_znodes_of_those_who_wait_are_no_leases():
    servers = Servers()
    leases(servers, before=True)
    assert isinstance(servers.line(permits=2), str)


def test_znodes_that_refused_calls_make_are_no_leases():
    servers = Servers(4)
    leases(servers)
    servers.create(50, 3, f"{PARENT}/d")
    servers.delete(80, 3, f"{PARENT}/d")
    servers.refused(3, 48, 82)
    assert isinstance(servers.line(permits=2), str)


def test_other_children_of_the_parent_leave_no_pool():
    servers = Servers()
    servers.create(1, 0, f"{PARENT}/settings", ephemeral=False)
    leases(servers)
    assert isinstance(servers.line(permits=2), str)


def test_what_is_gone_before_the_grant_returns_shows_nothing():
    servers = Servers()
    for number in range(3):
        inner = f"{PARENT}/inner-{number:010d}"
        servers.create(100 * number + 10, number, inner)
        servers.delete(100 * number + 20, number, inner)
        servers.hold(number, 100 * number + 5, 100 * number + 40, 100 * number + 60)
    assert servers.line() == (
        "most grants made no ephemeral znode below /r that stayed until the release"
    )


def test_a_random_name_may_end_like_a_sequence_number():
    servers = Servers(4)
    for number in range(12):
        lease = f"{PARENT}/{number:x}" + ("1234567890" if number == 5 else "f")
        servers.create(100 * number + 10, number % 4, lease)
        servers.hold(number % 4, 100 * number + 5, 100 * number + 15, 100 * number + 50)
        servers.delete(100 * number + 52, number % 4, lease)
    found = servers.line(permits=2)
    assert isinstance(found, DerivedLine)
    assert (found.kind, len(found.nodes)) == ("pool", 11)
