"""Files of a client that outlive its process, as a database's log does.

Append-only, so that what was written once stays, whatever kills the process. A process that is
killed while it appends may leave any prefix of what it was appending: readers must detect a torn
end.
"""

import os
from pathlib import Path
from typing import Protocol


class Home(Protocol):
    """The files of one client, by name. The client's next process finds them again."""

    def read(self, name: str) -> bytes:
        """All of a file; empty if nothing was ever appended."""

    def append(self, name: str, data: bytes) -> None:
        """Write at the end. Durable once this returns.

        Raises:
            OSError: it could not be written, or only in part.
        """


class DirectoryHome:
    """Real files in a directory, which is made when it is needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> bytes:
        """All of a file; empty if there is none."""
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return b""

    def append(self, name: str, data: bytes) -> None:
        """Write at the end, and fsync."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / name).open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


class MemoryHome:
    """Files that live as long as this object does."""

    def __init__(self) -> None:
        self._files: dict[str, bytearray] = {}

    def read(self, name: str) -> bytes:
        """All of a file; empty if there is none."""
        return bytes(self._files.get(name, b""))

    def append(self, name: str, data: bytes) -> None:
        """Write at the end."""
        self._files.setdefault(name, bytearray()).extend(data)
