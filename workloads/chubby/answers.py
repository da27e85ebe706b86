"""What the operations of the Chubby workload tell."""

from typing import TypedDict

from rumpus.workloads.contests.contender import Grant


class FileGrant(Grant):
    """A grant, with its lock generation, and the lock-delay (s) if its holder fails."""

    generation: int
    delay: float


class Listed(TypedDict):
    """The access control list that a file has, and those that it may have."""

    acl: list[str]
    allowed: list[list[str]]


class Added(Listed):
    """How many children a file has at least, once another one was added; ``key`` as in TOPICS.

    ``listed``: whether that one is among them.
    """

    key: str
    version: int
    child: str
    listed: bool


class Stored(TypedDict):
    """The number of a write in one life of a storage server."""

    life: str
    at: int


class HoldProof(TypedDict):
    """What a hold shows to others: the czxid of a writer's znode (0: a reader), its sequencer."""

    token: int
    sequencer: str


class FileRead(TypedDict):
    """A file's contents, their generation, whether they were cached, and the handle's session."""

    key: str
    version: int
    data: str
    cached: bool
    session: str | None


class Version(TypedDict):
    """The content generation of a key."""

    key: str
    version: int


class Written(Version):
    """What a write became, and the handle's session."""

    cached: bool
    session: str | None


class FileStat(TypedDict):
    """A file's four generation numbers, and the handle's session. Nothing of it was cached.

    ``opened``: the instance that the handle is of.
    """

    key: str
    opened: int
    instance: int
    content: int
    lock: int
    acl: int
    cached: bool
    session: str | None


class AclVersion(Listed):
    """The ACL generation of an instance of a key, and what its list became."""

    key: str
    instance: int
    generation: int


class Use(TypedDict):
    """The file of a handle, and the instance that the handle is of."""

    key: str
    opened: int


class Recreated(Use):
    """The file was deleted on that handle; the instance that was created after that."""

    instance: int


class Gone(TypedDict):
    """The instance of the temporary file whose end a client was told of."""

    gone: int


class Conflict(TypedDict):
    """How many requests wait for a holder, as it was told."""

    waiting: int


class Answered(TypedDict):
    """Which calls were answered that should have been refused."""

    answered: list[str]


class Validity(TypedDict):
    """Whether a sequencer was found valid."""

    valid: bool
