"""Packets of the protocol, as clients and servers send them."""

import struct

from kazoo.protocol.serialization import write_string


def frame(body):
    return struct.pack(">i", len(body)) + bytes(body)


def request(xid, operation):
    return frame(struct.pack(">ii", xid, operation.type) + operation.serialize())


def reply(xid, body=b"", error=0):
    return frame(struct.pack(">iqi", xid, 7, error) + body)


def event(kind, path):
    return reply(-1, struct.pack(">ii", kind, 3) + write_string(path))
