"""Barriers with one known mistake each, which the harness must find."""

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.barrier.node_barrier import Barrier
from rumpus.recipes.mistake import made
from rumpus.recipes.requests.retrying_call import RetryingCall


class AnyEventBarrier(Barrier):
    def _await(self, call: RetryingCall) -> bool:
        told: list[WatchedEvent] = []

        def news(event: WatchedEvent) -> None:
            told.append(event)
            call.news()

        call.session.wake.clear()
        try:
            call.read(self._client.get_async, self._path, news)
        except NoNodeError:
            return True
        call.wait()
        if told and not any(event.type == EventType.DELETED for event in told):
            made(own=True)
        return bool(told)
