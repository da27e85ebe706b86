"""Threads of recipes end with a client that was stopped, and go on with one that starts again."""

import pytest
from kazoo.exceptions import ConnectionClosedError
from kazoo.protocol.states import KeeperState

from rumpus.recipes.registry.service_registry import Registration
from rumpus.recipes.requests import retries
from rumpus.recipes.requests.follower import Follower

MOST = 20
"""How often a thread may ask a client that is stopped before it is taken not to end."""


class StoppedClient:
    """Refuses everything, as kazoo does once it was stopped; starts again when told."""

    client_state = KeeperState.CLOSED
    _session_id = None

    def __init__(self):
        self.asked = 0

    def add_listener(self, listener):
        pass

    def remove_listener(self, listener):
        pass

    def refuse(self, *_args, **_options):
        self.asked += 1
        assert self.asked < MOST, "it goes on and on"
        raise ConnectionClosedError

    create_async = get_async = get_children_async = delete_async = ensure_path_async = refuse


class Looks(Follower):
    def __init__(self, client):
        super().__init__(client)
        self.looked = 0

    def _look(self, session, deadline):
        self.looked += 1
        session.ask(deadline, self._client.get_async, "/nowhere")


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(retries, "PAUSE", 0.001)
    monkeypatch.setattr(retries.started_again, "__defaults__", (0.01,))
    return StoppedClient()


def test_a_follower_ends(client):
    Looks(client)._follow()
    assert client.asked == 1


def test_a_registration_ends_and_nothing_of_it_is_waited_for(client):
    registration = Registration(client, "/services", "here")
    registration._keep()
    assert client.asked == 1
    assert registration.wait_over(0.0)
    assert not registration.wait_confirmed(0.0)


def test_a_follower_goes_on_with_a_client_that_is_started_again(client, monkeypatch):
    """As the guard of a blacklist does with its client."""
    follower = Looks(client)

    def start(*_args):
        client.client_state = KeeperState.CONNECTING
        if follower.looked == 3:
            follower.close()
        client.refuse()

    monkeypatch.setattr(client, "get_async", start)
    follower._follow()
    assert follower.looked == 3


def test_a_client_that_is_started_again_is_waited_for(client, monkeypatch):
    assert not retries.started_again(client)

    def sleep(_seconds):
        client.client_state = KeeperState.CONNECTING

    monkeypatch.setattr(retries.time, "sleep", sleep)
    assert retries.started_again(client)
