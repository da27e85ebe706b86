"""Operation codes: types of requests and of transactions (``ZooDefs.OpCode``)."""

CREATE = 1
DELETE = 2
EXISTS = 3
GET_DATA = 4
SET_DATA = 5
GET_ACL = 6
SET_ACL = 7
GET_CHILDREN = 8
SYNC = 9
PING = 11
GET_CHILDREN2 = 12
CHECK = 13
MULTI = 14
CREATE2 = 15
RECONFIG = 16
CHECK_WATCHES = 17
REMOVE_WATCHES = 18
CREATE_CONTAINER = 19
DELETE_CONTAINER = 20
CREATE_TTL = 21
MULTI_READ = 22
AUTH = 100
SET_WATCHES = 101
SASL = 102
GET_EPHEMERALS = 103
GET_ALL_CHILDREN_NUMBER = 104
SET_WATCHES2 = 105
ADD_WATCH = 106
WHO_AM_I = 107
CREATE_SESSION = -10
CLOSE_SESSION = -11
ERROR = -1

CREATES = frozenset({CREATE, CREATE2, CREATE_CONTAINER, CREATE_TTL})

WRITES = frozenset(
    {
        CREATE,
        CREATE2,
        CREATE_CONTAINER,
        CREATE_TTL,
        DELETE,
        DELETE_CONTAINER,
        SET_DATA,
        SET_ACL,
        CHECK,
        MULTI,
        RECONFIG,
        CREATE_SESSION,
        CLOSE_SESSION,
    }
)
"""Requests that get a zxid and are logged, even if they fail."""

READS = frozenset(
    {
        EXISTS,
        GET_DATA,
        GET_ACL,
        GET_CHILDREN,
        GET_CHILDREN2,
        PING,
        CHECK_WATCHES,
        REMOVE_WATCHES,
        MULTI_READ,
        SET_WATCHES,
        SET_WATCHES2,
        GET_EPHEMERALS,
        GET_ALL_CHILDREN_NUMBER,
        ADD_WATCH,
        WHO_AM_I,
    }
)
"""Requests that the client's server answers without the leader."""

VALID = WRITES | READS | {SYNC}
"""Valid by ``Request.isValid``; auth and sasl are handled before that check."""
