"""Which znodes a cell has, and what they say about a file.

Below the cell's znode, for a file ``name``, where ``key`` is the name with its slashes quoted:

- ``files/name``: the file. Its contents are the znode's data; its children are those of the file.
- ``caches/key``: the mark of changes (``recipes.chubby.change_mark``). Each client that has the
  file in its cache has an ephemeral child there.
- ``locks/key``: the queue of the file's lock. The child ``taken`` is its table of holders
  (``recipes.chubby.lock_table``).

Three of Chubby's four generation numbers are ZooKeeper's own: the instance number is the znode's
czxid, the content generation its version, the ACL generation its aversion. The lock generation is
in the table of holders.
"""

from typing import NamedTuple
from urllib.parse import quote

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class FilePaths(NamedTuple):
    """The znodes of one file."""

    file: str
    cache: str
    lock: str

    @property
    def taken(self) -> str:
        """The lock's table of holders."""
        return f"{self.lock}/taken"


def paths_of(cell: str, name: str) -> FilePaths:
    """The znodes of the file ``name`` (``a`` or ``a/b``) of a cell."""
    key = quote(name, safe="")
    return FilePaths(f"{cell}/files/{name}", f"{cell}/caches/{key}", f"{cell}/locks/{key}")


class Stat(NamedTuple):
    """A file's four generation numbers (Burrows, section 2.2)."""

    instance: int
    content_generation: int
    lock_generation: int
    acl_generation: int


class Contents(NamedTuple):
    """A file's contents, its Stat, and whether they came from this client's cache.

    Locks do not invalidate caches, so the lock generation of a cached Stat may be an old one.
    """

    data: bytes
    stat: Stat
    cached: bool = False


def read_file(
    client: KazooClient, session: Session, deadline: Deadline, paths: FilePaths
) -> Contents:
    """Read a file, as the connected server shows it.

    Raises:
        NoNodeError: there is no such file.
        SessionExpiredError, Unanswered, ZookeeperError: as ``Session.ask``.
    """
    data, stat = session.ask(deadline, client.get_async, paths.file)
    try:
        table, _ = session.ask(deadline, client.get_async, paths.taken)
    except NoNodeError:
        table = b""
    generation = LockTable.parse(table.decode()).generation
    return Contents(data, Stat(stat.czxid, stat.version, generation, stat.aversion))
