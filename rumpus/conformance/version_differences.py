"""How other versions of ZooKeeper differ from 3.8.0, which the simulated servers follow.

Each difference is a check that holds of 3.8.0 and not of the version (``conformance.registry``),
with what the version does instead. ``tests/conformance/test_versions.py`` finds exactly these on
real servers. None is modelled: the recipes and the workloads do not depend on them, but for
``create2``, which 3.4 lacks.
"""

from collections.abc import Mapping
from typing import Final

_SINCE_3_9: Final[Mapping[int, str]] = {
    13: "a create whose body cannot be read takes no zxid",
    40: "exists needs READ on a znode that is there (ZOOKEEPER-2590, 3.9.2)",
    47: "create2 in a multi is answered as create2, with a stat (ZOOKEEPER-4026, 3.9.0)",
    50: "a watch event's header has the zxid of the change (ZOOKEEPER-4655, 3.9.0)",
    59: "watches of two modes on one path are both kept, and both fire (ZOOKEEPER-4466, 3.9.0)",
    81: "a snapshot ends with the last zxid, behind the digest",
}

_NO_CONFIG = "there is no /zookeeper/config, as servers cannot be reconfigured"

DIFFERENCES: Final[Mapping[str, Mapping[int, str]]] = {
    "3.4.13": {
        1: _NO_CONFIG,
        18: "an ACL that is null gets -5, not -114",
        21: "flags of TTL nodes are unknown flags, and get -8",
        23: "there are no containers: the request is unknown (-6)",
        28: "there is no create2: the request is unknown (-6)",
        31: _NO_CONFIG,
        32: _NO_CONFIG,
        35: "there is no reconfig: the request is unknown (-6)",
        37: "there is no whoAmI: the request is unknown (-6)",
        39: "an ACL's entries of scheme auth stand at the end of the list",
        41: "delete looks for the znode before it looks at the parent's ACL: -101, not -102",
        47: "there is no create2 in a multi, which gets -5",
        49: "there is no multiRead: the request is unknown (-6)",
        51: "there is no checkWatches: the request is unknown (-6)",
        57: "there is no addWatch: the request is unknown (-6)",
        58: "there is no addWatch: the request is unknown (-6)",
        59: "there is no addWatch: the request is unknown (-6)",
        60: "there is no addWatch: the request is unknown (-6)",
        61: "there is no checkWatches and no removeWatches: the requests are unknown (-6)",
        68: "there is no getEphemerals: the request is unknown (-6)",
        69: "there is no getAllChildrenNumber: the request is unknown (-6)",
        73: "mntr tells the server's state behind its counters",
        74: "a new server writes no snapshot.0",
        75: "records have no digest: the first has 36 bytes",
        81: "a server that starts again writes no snapshot, and none has a digest",
        86: "there is no create2: the request is unknown (-6)",
        95: _NO_CONFIG,
        101: "envi tells fewer properties",
        102: "an id that is null gets -5, not -114",
    },
    "3.9.3": _SINCE_3_9,
    "3.9.6": _SINCE_3_9,
}
"""Version -> number of a check -> what the version does instead."""
