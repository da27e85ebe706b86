"""Bytes that pass between two descriptors of one process: pipes and socket pairs."""

import errno
import os
from typing import Any, Final

from rumpus.simulation.loader.modules.descriptor import READ, WRITE, Descriptor, OpenFiles

CAPACITY: Final = 65_536
"""Bytes that a pipe holds, as on Linux."""


def broken(number: int) -> OSError:
    """The error of the system, with its usual class and text."""
    return OSError(number, os.strerror(number))


class PipeEnd(Descriptor):
    """One end of ``os.pipe``."""

    def __init__(self, files: OpenFiles) -> None:
        super().__init__(files)
        self.blocking = True
        self.other: PipeEnd | None = None
        """The other end, as long as it is open."""
        self.held = bytearray()
        """What can be read."""
        self._writes = False

    def read(self, size: int) -> bytes:
        """As ``os.read``: b"" once all writers are gone."""
        self.primitive()
        held = self.held
        if self._writes:
            raise broken(errno.EBADF)
        while not held:
            if self.other is None:
                return b""
            if not self.blocking:
                raise broken(errno.EAGAIN)
            self.wait(READ, None, "a pipe to be written to")
        taken = bytes(held[:size])
        del held[:size]
        self.ready_to_read = bool(held) or self.other is None
        if self.other is not None and not self.other.ready_to_write:
            self.other.ready_to_write = True
            self.other.wake()
        return taken

    def write(self, data: Any) -> int:
        """As ``os.write``."""
        self.primitive()
        data = bytes(data)
        if not self._writes:
            raise broken(errno.EBADF)
        written = 0
        while written < len(data):
            other = self.other
            if other is None:
                raise broken(errno.EPIPE)
            room = CAPACITY - len(other.held)
            if room > 0:
                part = data[written : written + room]
                other.held += part
                written += len(part)
                self.ready_to_write = room > len(part)
                if not other.ready_to_read:
                    other.ready_to_read = True
                    other.wake()
            elif self.blocking:
                self.wait(WRITE, None, "a pipe to be read from")
            elif written:
                break
            else:
                raise broken(errno.EAGAIN)
        return written

    def close(self) -> None:
        """As ``os.close``."""
        other, self.other = self.other, None
        if other is not None:
            other.other = None
            other.ready_to_read = other.ready_to_write = True
            other.wake()
        self.release()


def pipe(files: OpenFiles) -> tuple[int, int]:
    """A new pipe: the numbers of its reading and its writing end."""
    reader, writer = PipeEnd(files), PipeEnd(files)
    reader.other, writer.other = writer, reader
    writer._writes = True  # noqa: SLF001 - of this file
    writer.ready_to_write = True
    return reader.number, writer.number
