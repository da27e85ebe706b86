"""Bytes arrive exactly once and in order, whatever happened in between and was healed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.network.network import Network

HOSTS = ("c", "s")
WAYS = (HOSTS, HOSTS[::-1])

sides = st.sampled_from((0, 1))
shares = st.sampled_from((0.0, 0.2, 0.7))
writes = st.tuples(st.just("write"), sides, st.integers(1, 100))
runs = st.tuples(
    st.just("run"), st.sampled_from((100_000, MILLISECOND, 250 * MILLISECOND, 9 * SECOND))
)
steps = st.one_of(  # what matters most comes more often
    writes,
    writes,
    writes,
    runs,
    runs,
    st.tuples(st.just("write"), sides, st.sampled_from((1_000, 65_536, 65_537, 200_000, 700_000))),
    st.tuples(st.just("message"), sides, st.sampled_from((10, 1_000, 300_000))),
    st.tuples(st.sampled_from(("pause", "resume", "freeze", "thaw")), sides),
    st.tuples(st.sampled_from(("cut", "mend")), sides),
    st.tuples(st.just("lose"), sides, shares),
    st.tuples(st.sampled_from(("reorder", "fragment", "duplicate")), sides, shares),
    st.tuples(st.just("delay"), sides, st.sampled_from((0, 300 * MILLISECOND, 3 * SECOND))),
    st.tuples(st.just("rate"), sides, st.sampled_from((None, 1_000_000))),
)
scripts = st.lists(steps, min_size=10, max_size=40)


class Side:
    """Writes numbered bytes and messages, and keeps what it receives."""

    def __init__(self, transport):
        self.transport = transport
        self.sent = []
        self.received = []
        self.written = 0
        self.eof = False
        self.lost = []

    def write(self, size):
        data = bytes((self.written + place) % 251 for place in range(size))
        self.written += size
        self.sent.append(data)
        self.transport.write(data)

    def message(self, size):
        message = (len(self.sent), size)
        self.sent.append(message)
        self.transport.write_message(message, size)

    def data_received(self, data):
        self.received.append(data)

    def eof_received(self):
        self.eof = True

    def connection_lost(self, error):
        self.lost.append(error)


def joined(pieces):
    """The stream: bytes between messages as one."""
    stream = []
    for piece in pieces:
        if isinstance(piece, bytes) and stream and isinstance(stream[-1], bytes):
            stream[-1] += piece
        else:
            stream.append(piece)
    return stream


def act(simulator, network, processes, ends, step):
    kind, which, *rest = step
    if kind == "run":
        simulator.run(simulator.now + which)
    elif kind in ("write", "message"):
        getattr(ends[which], kind)(*rest)
    elif kind in ("pause", "resume"):
        getattr(ends[which].transport, f"{kind}_reading")()
    elif kind in ("freeze", "thaw"):
        getattr(processes[which], kind)()
    else:
        getattr(network, kind)(*WAYS[which], *rest)


def connected(seed):
    simulator = Simulator(seed)
    network = Network(simulator)
    processes = [simulator.process(host) for host in HOSTS]
    ends = {}

    def join(which, transport):
        ends[which] = Side(transport)
        return ends[which]

    network.listen(processes[1], 1, lambda transport: join(1, transport))
    network.connect(processes[0], ("s", 1), lambda transport: join(0, transport), None)
    simulator.run(SECOND)
    return simulator, network, processes, ends


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), scripts)
def test_bytes_arrive_once_and_in_order(seed, script):
    simulator, network, processes, ends = connected(seed)
    for step in script:
        act(simulator, network, processes, ends, step)
        for which in (0, 1):
            sent = joined(ends[1 - which].sent)
            got = joined(ends[which].received)
            assert got[:-1] == sent[: len(got) - 1] if got else True
    network.heal()
    for which in (0, 1):
        processes[which].thaw()
        ends[which].transport.resume_reading()
    for which in (0, 1):
        ends[which].transport.write_eof()
    simulator.run(simulator.now + 400 * SECOND)
    for which in (0, 1):
        assert joined(ends[which].received) == joined(ends[1 - which].sent)
        assert ends[which].eof
        assert ends[which].transport.unsent() == 0
        assert ends[which].transport._flying == 0
        assert ends[which].lost == []
    simulator.close()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), scripts, sides, st.sampled_from(("abort", "kill")))
def test_what_arrives_before_an_end_is_a_prefix(seed, script, which, how):
    simulator, network, processes, ends = connected(seed)
    for step in script:
        act(simulator, network, processes, ends, step)
    if how == "abort":
        ends[which].transport.abort()
    else:
        processes[which].kill()
    network.heal()
    processes[1 - which].thaw()
    ends[1 - which].transport.resume_reading()
    simulator.run(simulator.now + 10 * SECOND)
    ends[1 - which].transport.write(b"is anybody there?")
    simulator.run(simulator.now + 1000 * SECOND)
    sent = joined(ends[which].sent)
    got = joined(ends[1 - which].received)
    if got:
        assert got[:-1] == sent[: len(got) - 1]
        last = sent[len(got) - 1]
        assert last == got[-1] or (isinstance(last, bytes) and last.startswith(got[-1]))
    assert len(ends[1 - which].lost) == 1
    simulator.close()
