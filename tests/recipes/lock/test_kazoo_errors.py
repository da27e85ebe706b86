"""What adapters of kazoo's recipes tell of errors that kazoo raises."""

import pytest
from kazoo.exceptions import NoNodeError

from rumpus.recipes.contests.interfaces import LockUnknown
from rumpus.recipes.lock.kazoo_bare_lock import KazooBareContest
from rumpus.recipes.registry.kazoo_registry import PartyRegistry
from rumpus.recipes.registry.service_registry import RegistrationUnknown


class Raising:
    """A kazoo client, lock and party whose calls are refused."""

    def __init__(self, *_):
        pass

    def add_listener(self, _):
        pass

    def refuse(self, *_, **__):
        raise NoNodeError

    acquire = join = leave = refuse


def test_a_lock_tells_the_error_first(monkeypatch):
    monkeypatch.setattr(KazooBareContest, "_new_lock", lambda _: Raising())
    with pytest.raises(LockUnknown, match=r"^NoNodeError: "):
        KazooBareContest(Raising(), "/lock", "c0", 1.0).win(5.0)


def test_a_party_tells_the_error_first(monkeypatch):
    monkeypatch.setattr("rumpus.recipes.registry.kazoo_registry.Party", Raising)
    registry = PartyRegistry(Raising(), "/party")
    with pytest.raises(RegistrationUnknown, match=r"^NoNodeError: "):
        registry.register("a")
    with pytest.raises(RegistrationUnknown, match=r"^NoNodeError: "):
        registry.deregister()
