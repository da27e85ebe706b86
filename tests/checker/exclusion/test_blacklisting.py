"""Sessions on a blacklist end soon: by their clients, or because the service refuses them."""

import pytest

from rumpus.checker.exclusion.blacklisting import Blacklisting, check_blacklisting
from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.clock import WallClock
from tests.checker.recorded import Recorded

LISTED = Blacklisting(1_000_000_000, "0x1", "/line/n1")


class Truth:
    """The end of a session, in milliseconds; it expired."""

    def __init__(self, ended):
        self._life = SessionLife("0x1", 1, 0, 2000, closed_zxid=9, closed_ms=ended, expired=True)

    def sessions(self):
        return {"0x1": self._life}

    def znodes(self, _path="/"):
        return iter(())


@pytest.mark.parametrize(
    ("ended", "timeout", "found"),
    [
        (4400, 2.0, []),
        (4600, 2.0, ["lingering-session"]),
        (4600, None, []),
        (5100, None, ["missed-revocation"]),
    ],
)
def test_a_session_on_the_list_ends_in_time(ended, timeout, found):
    history = Recorded(1).session(0, 0, "connected", session="0x1").end(9000).history()
    result = check_blacklisting(
        history, [LISTED], Truth(ended), WallClock([(0, 0)]), timeout=timeout
    )
    assert [anomaly.kind for anomaly in result.anomalies] == found
