"""Log entries for tests: hand-made ones, and Hypothesis strategies for any."""

from hypothesis import strategies as st

from rumpus.simulation.zookeeper.storage import log_records
from rumpus.simulation.zookeeper.tree import transactions as txns
from rumpus.simulation.zookeeper.tree.transactions import Entry, Header

OPEN = ((31, "world", "anyone"),)

INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
PATHS = st.text(st.characters(max_codepoint=0xD7FF), max_size=8)
DATA = st.none() | st.binary(max_size=20)
ACLS = st.lists(st.tuples(INTS, PATHS, PATHS), max_size=3).map(tuple)

CREATES = st.builds(txns.CreateTxn, PATHS, DATA, ACLS, st.booleans(), INTS)
SIMPLE = {
    1: CREATES,
    2: st.builds(txns.DeleteTxn, PATHS),
    5: st.builds(txns.SetDataTxn, PATHS, DATA, INTS),
    13: st.builds(txns.CheckTxn, PATHS, INTS),
    15: CREATES,
    19: st.builds(txns.CreateContainerTxn, PATHS, DATA, ACLS, INTS),
    21: st.builds(txns.CreateTtlTxn, PATHS, DATA, ACLS, INTS, LONGS),
    -1: st.builds(txns.ErrorTxn, INTS),
}
OPERATIONS = st.sampled_from(sorted(SIMPLE)).flatmap(
    lambda kind: st.tuples(st.just(kind), SIMPLE[kind])
)
ALL = {
    **{kind: txns for kind, txns in SIMPLE.items() if kind != 13},
    7: st.builds(txns.SetAclTxn, PATHS, ACLS, INTS),
    14: st.lists(OPERATIONS, max_size=4).map(lambda found: txns.MultiTxn(tuple(found))),
    16: st.builds(txns.SetDataTxn, PATHS, DATA, INTS),
    20: st.builds(txns.DeleteTxn, PATHS),
    -10: st.builds(txns.CreateSessionTxn, INTS),
    -11: st.lists(PATHS, max_size=4).map(lambda found: txns.CloseSessionTxn(tuple(found))),
}
DIGESTS = st.none() | st.integers(0, 2**64 - 1)


def entry(zxid, transaction, kind, *, session=1, cxid=0, time=1, digest=None):
    header = Header(session, cxid, zxid, time, kind)
    payload = log_records.serialize(header, transaction, digest)
    return Entry(header, transaction, digest, payload)


def create(zxid, path, data=b"", *, cversion=1, ephemeral=False, session=1, digest=None):
    txn = txns.CreateTxn(path, data, OPEN, ephemeral, cversion)
    return entry(zxid, txn, 1, session=session, digest=digest)


def set_data(zxid, path, data, version):
    return entry(zxid, txns.SetDataTxn(path, data, version), 5)


def delete(zxid, path):
    return entry(zxid, txns.DeleteTxn(path), 2)


def open_session(zxid, session, timeout=4000):
    return entry(zxid, txns.CreateSessionTxn(timeout), -10, session=session)


def close_session(zxid, session, *paths):
    return entry(zxid, txns.CloseSessionTxn(paths), -11, session=session)


@st.composite
def entries(draw):
    kind = draw(st.sampled_from(sorted(ALL)))
    return entry(
        draw(LONGS),
        draw(ALL[kind]),
        kind,
        session=draw(LONGS),
        cxid=draw(INTS),
        time=draw(LONGS),
        digest=draw(DIGESTS),
    )
