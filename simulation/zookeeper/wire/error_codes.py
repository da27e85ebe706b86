"""Error codes that servers answer (``KeeperException.Code``), and the exception with one."""

OK = 0
RUNTIME_INCONSISTENCY = -2
MARSHALLING_ERROR = -5
UNIMPLEMENTED = -6
BAD_ARGUMENTS = -8
UNKNOWN_SESSION = -12
NEW_CONFIG_NO_QUORUM = -13
RECONFIG_IN_PROGRESS = -14
NO_NODE = -101
NO_AUTH = -102
BAD_VERSION = -103
NO_CHILDREN_FOR_EPHEMERALS = -108
NODE_EXISTS = -110
NOT_EMPTY = -111
SESSION_EXPIRED = -112
INVALID_ACL = -114
AUTH_FAILED = -115
SESSION_MOVED = -118
NOT_READ_ONLY = -119
NO_WATCHER = -121
RECONFIG_DISABLED = -123


class Refusal(Exception):  # noqa: N818 - the request fails, not the program
    """A request fails (``KeeperException``); ``code`` is the error code of its reply."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
