from struct import unpack

from rumpus.simulation.zookeeper.serving.session_ids import first_session_id, password, unsigned


def test_passwords_are_the_bytes_of_javas_random():
    # new java.util.Random(0) gives these ints, and new Random(42) those.
    assert unpack("<4i", password(0xB3415C00)) == (
        -1155484576,
        -723955400,
        1033096058,
        -1690734402,
    )
    assert unpack("<2i", password(0xB3415C00 ^ 42)[:8]) == (-1170105035, 234785527)


def test_passwords_of_negative_ids_are_those_of_their_64_bits():
    session = first_session_id(200, 5)
    assert session < 0
    assert password(session) == password(unsigned(session))
    assert password(session) != password(session + 1)


def test_ids_have_the_server_on_top_then_the_clock_then_a_counter():
    session = first_session_id(3, 0x12_3456_789A)
    assert session == 0x03_123456789A_0000


def test_only_40_bits_of_the_clock_count():
    assert first_session_id(1, (1 << 40) + 7) == first_session_id(1, 7)


def test_the_mark_of_containers_is_no_session():
    assert first_session_id(0x80, 0) == -(1 << 63) + 1
