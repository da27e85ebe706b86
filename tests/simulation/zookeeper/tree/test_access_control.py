import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.simulation.zookeeper.tree.access_control import (
    address_of,
    authenticate,
    digest_id,
    masked,
    permits,
    resolve,
    user_of,
)
from rumpus.simulation.zookeeper.tree.acl_index import LONG
from rumpus.simulation.zookeeper.wire.error_codes import INVALID_ACL, Refusal
from rumpus.simulation.zookeeper.wire.jute import MalformedRecord
from rumpus.simulation.zookeeper.wire.permissions import ADMIN, ALL, OPEN, READ, WRITE

ME = (("ip", "10.1.2.3"), ("digest", "u:hash"))


def test_an_empty_list_permits_everything():
    assert permits((), ADMIN, ())


def test_permissions_are_those_of_the_matching_entries():
    acl = ((READ, "world", "anyone"), (WRITE, "digest", "u:hash"))
    assert permits(acl, READ, ())
    assert not permits(acl, WRITE, ME[:1])
    assert permits(acl, WRITE, ME)
    assert permits(acl, WRITE | ADMIN, ME)
    assert not permits(acl, ADMIN, ME)


def test_the_super_user_may_do_everything():
    assert permits(((0, "world", "anyone"),), ADMIN, (("super", ""),))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("10.1.2.3", True),
        ("10.1.2.4", False),
        ("10.1.0.0/16", True),
        ("10.2.0.0/16", False),
        ("0.0.0.0/0", True),
        ("10.1.2.2/31", True),
        ("10.1.2.3/32", True),
    ],
)
def test_networks(network, expected):
    assert permits(((READ, "ip", network),), READ, ME) is expected


NETWORKS = ("10.1.2.3", "10.1.2.3/32", "10.1.0.0/16", "10.2.0.0/16", "0.0.0.0/0", "10.1.2.2/31")
ids = (
    st.tuples(st.just("ip"), st.sampled_from(NETWORKS))
    | st.tuples(st.just("digest"), st.sampled_from(("u:hash", "v:hash")))
    | st.just(("world", "anyone"))
)
entries = st.lists(st.tuples(st.sampled_from((0, READ, WRITE, READ | ADMIN)), ids), max_size=4)


@given(entries, st.sampled_from((READ, WRITE, ADMIN)), st.sampled_from((ME, ME[:1], ())))
def test_a_long_list_permits_what_its_entries_permit(found, wanted, identities):
    acl = tuple((permissions, *who) for permissions, who in found)
    padding = ((ALL, "digest", "nobody:hash"),) * LONG
    assert permits(acl + padding, wanted, identities) is (
        bool(acl) and permits(acl, wanted, identities)
    )


def test_a_long_list_is_read_once_however_often_it_is_asked_for():
    acl = tuple((ALL, "ip", f"9.{n >> 8}.{n & 255}.0/24") for n in range(20_000))
    began = time.process_time()
    for _ in range(20_000):
        assert not permits(acl, READ, ME)
    assert time.process_time() - began < 5


def test_duplicates_are_dropped_and_order_is_kept():
    first, second = (1, "world", "anyone"), (2, "ip", "1.2.3.4")
    assert resolve((first, second, first), ()) == (first, second)


def test_unknown_bits_and_none_at_all_are_kept():
    assert resolve(((255, "world", "anyone"), (0, "world", "anyone")), ()) == (
        (255, "world", "anyone"),
        (0, "world", "anyone"),
    )


def test_auth_becomes_who_is_authenticated():
    assert resolve(((ALL, "auth", ""),), ME) == ((ALL, "digest", "u:hash"),)


@pytest.mark.parametrize(
    "acl",
    [
        None,
        (),
        ((ALL, "nope", "x"),),
        ((ALL, "world", "bob"),),
        ((ALL, "digest", "abc"),),
        ((ALL, "digest", "a:b:c"),),
        ((ALL, "ip", "1.2.3"),),
        ((ALL, "ip", "1.2.3.256"),),
        ((ALL, "ip", "1.2.3.4/33"),),
        ((ALL, "ip", "::1"),),
        ((ALL, "auth", ""),),
        (*OPEN, (ALL, "nope", "x")),
    ],
)
def test_invalid_lists(acl):
    with pytest.raises(Refusal) as raised:
        resolve(acl, ME[:1])
    assert raised.value.code == INVALID_ACL


def test_digests_are_masked():
    assert masked(((1, "digest", "u:h"), (2, "ip", "1.2.3.4"), (3, "world", "anyone"))) == (
        (1, "digest", "u:x"),
        (2, "ip", "1.2.3.4"),
        (3, "world", "anyone"),
    )


def test_authentication():
    # The example of ZooKeeper's own documentation.
    name = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs="
    assert digest_id(b"super:admin") == name
    assert authenticate("digest", b"super:admin", "h") == (("digest", name),)
    assert authenticate("digest", b"super:admin", "h", name) == (("super", ""), ("digest", name))
    assert authenticate("ip", None, "1.2.3.4") == (("ip", "1.2.3.4"),)
    assert authenticate("digest", b"plain", "h")[0][1].startswith("plain:")
    assert authenticate("world", b"anyone", "h") == ()
    assert authenticate("nope", b"", "h") == ()
    assert user_of("digest", name) == "super"
    assert user_of("ip", "1.2.3.4") == "1.2.3.4"


@pytest.mark.parametrize("name", ["", None])
def test_the_id_of_scheme_auth_may_be_null(name):
    assert resolve(((ALL, "auth", name),), ME) == ((ALL, "digest", "u:hash"),)


def test_entries_auth_do_not_multiply_without_end():
    proved = tuple(("digest", f"u{number}:{'h' * 28}") for number in range(16))
    assert len(resolve(((ALL, "auth", ""), (READ, "auth", "")), proved)) == 32
    with pytest.raises(Refusal) as refused:
        resolve(tuple((number, "auth", "") for number in range(5000)), proved)
    assert refused.value.code == INVALID_ACL


@pytest.mark.parametrize(
    "acl",
    [
        ((ALL, "world", None),),
        ((ALL, "digest", None),),
        ((ALL, "auth", None), (ALL, "auth", None)),
        ((ALL, "auth", ""), (ALL, "auth", None)),
    ],
)
def test_other_nulls_are_defects(acl):
    with pytest.raises(MalformedRecord):
        resolve(acl, ME)


def test_every_host_has_an_address():
    assert address_of("10.1.2.3") == "10.1.2.3"
    found = {address_of(f"c{number}") for number in range(100)}
    assert len(found) == 100
    for address in found:
        assert permits(((READ, "ip", "10.0.0.0/8"),), READ, (("ip", address),))
