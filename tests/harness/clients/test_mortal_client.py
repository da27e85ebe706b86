"""A client that dies at its n-th write."""

import pytest

from rumpus.harness.clients.mortal_client import Died, MortalClient


class Kazoo:
    """Answers every request with what it is about."""

    def create_async(self, path):
        return path

    set_async = delete_async = get_async = create_async

    def transaction(self):
        return Transaction()


class Transaction:
    """A multi."""

    def commit_async(self):
        return "committed"


def test_reads_are_no_writes():
    client = MortalClient(Kazoo(), 1)
    assert client.create_async("/a") == "/a"
    assert client.get_async("/a") == "/a"
    with pytest.raises(Died):
        client.create_async("/b")


@pytest.mark.parametrize("write", ["create_async", "set_async", "delete_async"])
def test_every_write_counts(write):
    client = MortalClient(Kazoo(), 1)
    assert getattr(client, write)("/a") == "/a"
    with pytest.raises(Died):
        getattr(client, write)("/a")


def test_a_multi_is_one_write():
    client = MortalClient(Kazoo(), 1)
    assert client.transaction().commit_async() == "committed"
    with pytest.raises(Died):
        client.transaction().commit_async()
