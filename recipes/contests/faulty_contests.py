"""Contests with one known mistake each, for the mutants of every family that contends."""

import time
from typing import Final

from kazoo.exceptions import (
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import MARK, FairContest
from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.mistake import given, made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered

BETWEEN_S: Final = 0.5
"""Seconds that ``FirstSessionOnly`` sleeps at most before it reports that it has not won."""


class PersistentNode(FairContest):
    """The contender's node is persistent: it outlives its session."""

    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = False) -> str:
        made(f"{self._path}/{entry.mark}")
        return super()._create(entry, deadline, ephemeral=ephemeral)


class KeepsPlace(FairContest):
    """A contender whose session ended creates its node anew under the old name and number."""

    _place: str | None = None

    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = True) -> str:
        if self._place is None:
            self._place = super()._create(entry, deadline, ephemeral=ephemeral)
            return self._place
        made(self._place, entry.mark)
        try:
            _, stat = entry.session.ask(
                deadline,
                self._client.create_async,
                self._place,
                self._name.encode(),
                ephemeral=ephemeral,
                include_data=True,
            )
        except NodeExistsError:  # the servers have not expired the old session yet
            self._place = super()._create(entry, deadline, ephemeral=ephemeral)
            return self._place
        entry.token = stat.czxid
        return self._place

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        present = super()._take_out(entry, deadline)
        self._place = None
        return present


class DeniesRelease(FairContest):
    """A release that has removed the node says that it was not held."""

    def leave(self, entry: Entry) -> None:
        super().leave(entry)
        made(entry.node, own=True)
        raise NotHeld(f"{self._path}: our node {entry.node} was removed")


class SortsByName(FairContest):
    """The queue is sorted by the nodes' whole names, which begin with a random mark."""

    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        nodes = sorted(f"{self._path}/{child}" for child in children if MARK in child)
        if entry.node not in nodes:
            missing, entry.node, entry.token = entry.node, None, None
            raise NoNodeError(missing)
        ahead = nodes[: nodes.index(entry.node)]
        queue = sorted(nodes, key=lambda node: int(node.rpartition("-")[2]))
        return given(ahead, queue[: queue.index(entry.node)], entry.node, not ahead)


class FirstSessionOnly(FairContest):
    """A contender listens to its first session only, and never contends again once it is lost."""

    _first: Session | None = None

    def win(self, timeout: float | None) -> Entry | None:
        if self._first is None:
            self._first = Session(self._client)
        if self._first.lost:
            made(own=True)
            time.sleep(BETWEEN_S if timeout is None else min(timeout, BETWEEN_S))
            return None
        return super().win(timeout)


class WatchesFirst(FairContest):
    """Every waiter watches the first node in line, and looks again when that is gone."""

    def _watched(self, blocking: list[str]) -> list[str]:
        return given(blocking[:1], super()._watched(blocking), *blocking)


class NoRecheck(FairContest):
    """A contender goes ahead when the node that it watches vanishes, without another look."""

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        ahead = self._ahead(entry, deadline)
        if ahead and self._await(self._watched(ahead), entry, deadline):
            made(entry.node)
            return True
        return not ahead


class NoLookup(FairContest):
    """Repeats a create that got no answer, without looking whether the first one made a node."""

    def _find(self, entry: Entry, _deadline: Deadline) -> str | None:
        made(f"{self._path}/{entry.mark}")
        return None


class ReleaseByPath(UnfairContest):
    """A release deletes the path in the client's present session, whoever made the node."""

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None:
            return super()._take_out(entry, deadline)
        session = Session(self._client)  # the present one, perhaps not the entry's
        if entry.session.lost or entry.unsure:
            made(entry.node, entry.mark)
        try:
            session.ask(deadline, self._client.delete_async, entry.node)
        except NoNodeError:
            return False
        except ConnectionClosedError:
            raise
        except SessionExpiredError as error:
            raise Unanswered("to be tried again, in the next session") from error
        finally:
            session.close()
        return True
