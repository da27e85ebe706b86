"""A server that keeps one flat table of nodes: just enough of the protocol to carry a client.

It answers at once, holds no logs and knows no other server; for the tests of the client's side.
"""

import struct

HEADER = struct.Struct(">ii")
REPLY = struct.Struct(">iqi")
STAT = struct.Struct(">qqqqiiiqiiq")
NO_NODE = -101
NODE_EXISTS = -110


class TinyServer:
    def __init__(self, simulator, network, host="n1", port=2181):
        self.simulator = simulator
        self.nodes = {"/": b""}
        self.zxid = 0
        self.requests = 0
        self.pings = 0
        self.connections = 0
        self.process = simulator.process(host)
        network.listen(self.process, port, self._accept)

    def _accept(self, transport):
        self.connections += 1
        return _Connection(self, transport)


class _Connection:
    def __init__(self, server, transport):
        self.server = server
        self.transport = transport
        self.held = b""
        self.greeted = False

    def eof_received(self):
        self.transport.close()

    def connection_lost(self, error):
        pass

    def data_received(self, data):
        self.held += data
        while len(self.held) >= 4:
            size = int.from_bytes(self.held[:4], "big")
            if len(self.held) < 4 + size:
                return
            frame, self.held = self.held[4 : 4 + size], self.held[4 + size :]
            self._answer(frame)

    def _send(self, body):
        self.transport.write(len(body).to_bytes(4, "big") + body)

    def _answer(self, frame):
        server = self.server
        if not self.greeted:
            self.greeted = True
            timeout = struct.unpack_from(">i", frame, 12)[0]
            session = 0x1000 + server.connections
            self._send(struct.pack(">iiqi16sb", 0, timeout, session, 16, b"p" * 16, 0))
            return
        xid, kind = HEADER.unpack_from(frame)
        if kind == 11:
            server.pings += 1
            self._send(REPLY.pack(xid, server.zxid, 0))
            return
        server.requests += 1
        if kind == -11:
            self._send(REPLY.pack(xid, server.zxid, 0))
            self.transport.close()
            return
        size = struct.unpack_from(">i", frame, 8)[0]
        path = frame[12 : 12 + size].decode()
        error, body = self._perform(kind, path, frame, 12 + size)
        self._send(REPLY.pack(xid, server.zxid, error) + (b"" if error else body))

    def _perform(self, kind, path, frame, offset):
        nodes = self.server.nodes
        stat = STAT.pack(1, 1, 0, 0, 0, 0, 0, 0, len(nodes.get(path, b"")), 0, 1)
        if kind == 1:
            if path in nodes:
                return NODE_EXISTS, b""
            size = struct.unpack_from(">i", frame, offset)[0]
            self.server.zxid += 1
            nodes[path] = frame[offset + 4 : offset + 4 + max(size, 0)]
            return 0, struct.pack(">i", len(path)) + path.encode()
        if path not in nodes:
            return NO_NODE, b""
        if kind == 2:
            del nodes[path]
            return 0, b""
        if kind == 3:
            return 0, stat
        if kind == 4:
            return 0, struct.pack(">i", len(nodes[path])) + nodes[path] + stat
        raise AssertionError(f"operation {kind} is not known here")
