from rumpus.simulation.zookeeper.tree.java_sets import (
    copied_capacity,
    grown_capacity,
    hash_code,
    in_hash_order,
)


def test_hash_codes_are_those_of_java():
    # "hello".hashCode() is 99162322 = 0x05e918d2; its upper half is mixed into the lower one.
    assert hash_code("hello") == 0x05E918D2 ^ 0x05E9
    assert hash_code("") == 0
    # Negative in Java: -1 << 31 for this one.
    assert hash_code("polygenelubricants") == 0x80000000 ^ 0x8000


def test_sets_grow_above_three_quarters():
    assert [grown_capacity(most, 8) for most in (0, 6, 7, 12, 13)] == [8, 8, 16, 16, 32]
    assert grown_capacity(12) == 16
    assert grown_capacity(13) == 32


def test_copies_have_room_for_a_third_more():
    assert [copied_capacity(count) for count in (1, 2, 3, 6, 12)] == [2, 4, 8, 16, 32]


def test_order_is_by_bucket_then_by_age():
    # Single letters hash to their codes: a is 97, i 105, q 113: all in bucket 1 of 8.
    assert in_hash_order(["q", "b", "a", "i"], 8) == ["q", "a", "i", "b"]
