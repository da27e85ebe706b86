"""Sessions on a blacklist end soon: by their clients, or because the service refuses them."""

import pytest

from rumpus.checker.exclusion.blacklisting import check_blacklisting
from rumpus.checker.servers.server_truth import SessionLife
from rumpus.checker.timeline.clock import WallClock
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


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
    recorded = Recorded(2).session(0, 0, "connected", session="0x1")
    recorded.add(1000, 1, "invoke", "break")
    recorded.add(1000, 1, "ok", "break", {"session": "0x1", "node": "/line/n1"})
    timeline = laid_out(
        recorded.end(9000).history(),
        truth=Truth(ended),
        clock=WallClock([(0, 0)]),
        prevents={"missed-revocation" if timeout is None else "lingering-session"},
        session_timeout=timeout or 9.0,
    )
    result = check_blacklisting(timeline)
    assert [anomaly.kind for anomaly in result.anomalies] == found
