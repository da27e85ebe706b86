"""The test's own ends of links: it plays the clients and the servers, byte by byte."""


class Wires:
    """Two clients' links to three servers, real or simulated."""

    nodes = ("n1", "n2", "n3")

    def dial(self, client=0, node="n1"):
        """The client's end of a new connection."""
        raise NotImplementedError

    def accept(self, node="n1"):
        """The server's end of a connection that came through the links."""
        raise NotImplementedError

    def pair(self, client=0, node="n1"):
        """Both ends of a new connection: the client's, the server's."""
        dialled = self.dial(client, node)
        return dialled, self.accept(node)

    def is_refused(self, client=0, node="n1"):
        """Whether a new connection is reset, be it while it is being made."""
        try:
            return self.was_reset(self.dial(client, node))
        except ConnectionResetError:
            return True

    @staticmethod
    def read(sock, size):
        """Exactly so many bytes, or fewer if the stream ends."""
        data = b""
        while len(data) < size and (more := sock.recv(size - len(data))):
            data += more
        return data

    @staticmethod
    def was_reset(sock):
        """Whether the stream ends with a reset (and not in order), whatever comes before."""
        try:
            while sock.recv(1 << 16):
                pass
        except ConnectionResetError:
            return True
        return False
