"""Ids and passwords of sessions."""

import struct

_MASK_64 = (1 << 64) - 1
_MASK_48 = (1 << 48) - 1
_SECRET = 0xB3415C00
_CONTAINER_OWNER = -(1 << 63)
_FOUR_INTS = struct.Struct("<4I")
NO_PASSWORD = bytes(16)


def first_session_id(server_id: int, elapsed: int) -> int:
    """The first session id of a server; each further id is one higher.

    Args:
        server_id: ``myid``, the top 8 bits.
        elapsed: milliseconds on the monotonic clock; its low 40 bits come next.
    """
    unsigned = (((elapsed << 24) & _MASK_64) >> 8) | ((server_id << 56) & _MASK_64)
    signed = unsigned - (1 << 64) if unsigned >> 63 else unsigned
    return signed + 1 if signed == _CONTAINER_OWNER else signed


def password(session: int) -> bytes:
    """The password of a session, 16 bytes. Every server of an ensemble can compute it.

    They are ``nextBytes`` of ``java.util.Random``, a linear congruential generator (Knuth, The
    Art of Computer Programming, volume 2, 3.2.1), seeded with the id.
    """
    state = ((session ^ _SECRET) ^ 0x5DEECE66D) & _MASK_48
    words = []
    for _ in range(4):
        state = (state * 0x5DEECE66D + 0xB) & _MASK_48
        words.append(state >> 16)
    return _FOUR_INTS.pack(*words)


def unsigned(number: int) -> int:
    """A signed 64-bit number as the unsigned one that ``Long.toHexString`` shows."""
    return number & _MASK_64
