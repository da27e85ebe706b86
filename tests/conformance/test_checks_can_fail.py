"""For every check there is a mutant server that it catches."""

import contextlib
import struct

import pytest

from rumpus.conformance.raw_client import Closed, Silence
from rumpus.conformance.registry import CHECKS
from tests.conformance.checks import PROPERTIES, perform
from tests.conformance.simulated_deployment import SimulatedDeployment

TICK_MS = 500


class Mutant:
    """A server without a mistake; each mutant changes one thing."""

    def reply(self, xid, zxid, error, body):
        return xid, zxid, error, body

    def event(self, frame):
        return frame

    def handshake(self, frame):
        return frame

    def text(self, text):
        return text

    def end(self):
        return b""

    def files(self, found):
        return found


class WrongErrors(Mutant):
    def reply(self, xid, zxid, error, body):
        return xid, zxid, error - 1 if error else 0, body


class NoErrors(Mutant):
    def reply(self, xid, zxid, _, body):
        return xid, zxid, 0, body


class Refuses(Mutant):
    def reply(self, xid, zxid, error, _):
        return xid, zxid, error or -4, b""


class WrongZxids(Mutant):
    count = 0

    def reply(self, xid, zxid, error, body):
        self.count += 2
        return xid, zxid + self.count, error, body


class WrongBodies(Mutant):
    def reply(self, xid, zxid, error, body):
        return xid, zxid, error, body[:-1] + bytes([body[-1] ^ 1]) if body else body


class WrongBeginnings(Mutant):
    def reply(self, xid, zxid, error, body):
        return xid, zxid, error, body[:3] + bytes([body[3] ^ 1]) + body[4:] if body else body


class AlwaysWithReadOnlyByte(Mutant):
    def handshake(self, frame):
        return struct.pack(">i", 37) + frame[4:40] + b"\0"


class LosesEvents(Mutant):
    def event(self, _):
        return b""


class TellsTwice(Mutant):
    def event(self, frame):
        return frame + frame


class NeverHangsUp(Mutant):
    def end(self):
        return None


class WrongSessions(Mutant):
    def handshake(self, frame):
        changed = bytearray(frame)
        changed[12] ^= 2
        changed[-2] ^= 1
        return bytes(changed)


class WrongTimeouts(Mutant):
    def handshake(self, frame):
        return (
            frame[:8] + struct.pack(">i", struct.unpack(">i", frame[8:12])[0] * 2 + 1) + frame[12:]
        )


class WrongWords(Mutant):
    def text(self, text):
        return text.replace(b"0", b"1").replace(b"i", b"I")


class WrongData(Mutant):
    def reply(self, xid, zxid, error, body):
        return xid, zxid, error, body.replace(b"old", b"new").replace(b"version=0", b"version=1")


class WrongFiles(Mutant):
    def files(self, found):
        return {
            name: content[:-1] + bytes([content[-1] ^ 1]) if content else content
            for name, content in found.items()
        }


class NoFiles(Mutant):
    def files(self, found):
        return {name: found[name] for name in list(found)[:-1]}


class MutantChannel:
    """Between a correct server and the client; what the mutant changes is changed on the way."""

    def __init__(self, channel, mutant):
        self._channel = channel
        self._mutant = mutant
        self._words = None
        self._shaken = False
        self._bytes = b""

    def send(self, data):
        if self._words is None:
            self._words = data.isalpha() and len(data) == 4
        self._channel.send(data)

    def close(self):
        self._channel.close()

    def receive(self, timeout):
        chunk = self._channel.receive(timeout)
        if chunk is None:
            return None
        if not chunk:
            return self._mutant.end()
        if self._words:
            return self._mutant.text(chunk)
        self._bytes += chunk
        passed = b""
        while len(self._bytes) >= 4:
            length = struct.unpack(">i", self._bytes[:4])[0]
            if len(self._bytes) < 4 + length:
                break
            frame, self._bytes = self._bytes[: 4 + length], self._bytes[4 + length :]
            passed += self._lie(frame)
        return passed or self.receive(timeout)

    def _lie(self, frame):
        if not self._shaken:
            self._shaken = True
            return self._mutant.handshake(frame)
        xid, zxid, error = struct.unpack(">iqi", frame[4:20])
        if xid == -1:
            return self._mutant.event(frame)
        xid, zxid, error, body = self._mutant.reply(xid, zxid, error, frame[20:])
        return struct.pack(">iiqi", 16 + len(body), xid, zxid, error) + body


class MutantDeployment(SimulatedDeployment):
    def __init__(self, mutant, *arguments, **settings):
        self._mutant = mutant
        super().__init__(*arguments, **settings)

    def connect(self, address):
        return MutantChannel(super().connect(address), self._mutant)

    def files(self, node):
        return self._mutant.files(super().files(node))


def passes(check, mutant):
    nodes, tick = (3, TICK_MS) if check.needs == "ensemble" else (1, 2000)
    deployment = MutantDeployment(
        mutant, nodes, tick_ms=tick, properties=PROPERTIES.get(check.number)
    )
    if check.needs == "server":
        deployment.start()
    try:
        with contextlib.suppress(AssertionError, Closed, Silence, OSError, ValueError, LookupError):
            perform(check, deployment)
            return True
        return False
    finally:
        deployment.tear_down()


@pytest.mark.parametrize("number", sorted(CHECKS))
def test_some_mutant_is_caught(number):
    mutants = [
        WrongErrors, NoErrors, Refuses, WrongZxids, WrongBodies, WrongBeginnings, LosesEvents,
        TellsTwice, NeverHangsUp, WrongSessions, WrongTimeouts, AlwaysWithReadOnlyByte,
        WrongWords, WrongData, WrongFiles, NoFiles,
    ]  # fmt: skip
    check = CHECKS[number]
    # A refusal of everything is caught by all; to be caught by that alone proves little.
    assert not all(passes(check, mutant()) for mutant in mutants if mutant is not Refuses)
    assert passes(check, Mutant())
