"""What several threads do to a session's window at once; whole locks are in test_validity_lock."""

from math import inf

from kazoo.exceptions import ConnectionClosedError

from rumpus.recipes.requests.session_validity import SessionValidity


class FakeClient:
    """Enough of a client for a window that asks no server; notes what is spawned."""

    _session_timeout = 4000.0
    _session_id = 7

    def __init__(self):
        self.handler = self
        self.spawned = []

    def spawn(self, function):
        self.spawned.append(function)

    def add_listener(self, listener):
        pass

    def remove_listener(self, listener):
        pass


class Beats(SessionValidity):
    """Its beats are what a test makes them."""

    def __init__(self, client, beat):
        super().__init__(client, "/nowhere")
        self.began = 0
        self._on_beat = beat

    def _beat(self, session):  # noqa: ARG002 - nobody is asked
        self.began += 1
        self._on_beat(self)


def test_a_new_session_does_not_inherit_what_was_left_of_the_last_one():
    seen = []

    def look(validity):
        seen.append(validity.remaining())
        raise ConnectionClosedError

    client = FakeClient()
    validity = Beats(client, look)
    validity._until = inf
    validity.keep()
    client.spawned.pop()()
    assert seen == [0.0]


def test_who_begins_anew_when_the_beats_are_about_to_end_is_the_only_one_that_beats():
    client = FakeClient()

    def about_to_end(validity):
        if validity.began == 1:
            validity.let_go()
            validity._idle_since = -inf
            assert not validity._needed()
            validity.keep()  # another thread's
            assert len(client.spawned) == 1
        else:
            raise ConnectionClosedError

    validity = Beats(client, about_to_end)
    validity.keep()
    client.spawned.pop()()
    assert validity.began == 1


def test_beats_that_end_leave_the_window_to_those_that_have_begun():
    client = FakeClient()
    windows = []

    def another_begins(validity):
        if validity.began == 1:
            validity.let_go()
            validity._idle_since = -inf
            assert not validity._needed()
            validity.keep()
            client.spawned.pop()()
        else:
            windows.append(validity._session)
            validity._until = inf

    validity = Beats(client, another_begins)
    validity.keep()
    client.spawned.pop()()
    assert validity.began == 2
    assert len(windows) == 1
