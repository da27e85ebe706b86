"""Semaphores with one known mistake each, which the harness must find."""

from kazoo.exceptions import NoNodeError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.mistake import given, made
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.semaphore.contest_semaphore import SemaphoreContest


class CountsAll(SemaphoreContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        standing = self._standing(entry, deadline)
        if len(standing) <= self._permits:
            return True
        queue = sorted(standing, key=lambda node: int(node[-10:]))
        made(entry.node, entry.node in queue[: self._permits], lasting=True)
        if not deadline.passed:
            others = [node for node in standing if node != entry.node]
            self._await(others, entry, deadline)
        return False

    def _standing(self, entry: Entry, deadline: Deadline) -> list[str]:
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        return [f"{self._path}/{child}" for child in children]


class CountsFirst(SemaphoreContest):
    @classmethod
    def line(cls, path: str) -> Line:
        return Line(kind="pool", path=path)

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        if entry.node is not None:
            return True
        self._ensure_parent(entry, self._path, deadline)
        leases = entry.session.ask(deadline, self._client.get_children_async, self._path)
        if len(leases) < self._permits:
            made(f"{self._path}/{entry.mark}")
            self._enter(entry, deadline)
            return True
        if not deadline.passed:
            self._await([f"{self._path}/{lease}" for lease in leases], entry, deadline)
        return False


class WatchesOne(SemaphoreContest):
    def _watched(self, blocking: list[str]) -> list[str]:
        return given([blocking[-self._permits]], super()._watched(blocking), *blocking)


class ReleaseByPlace(SemaphoreContest):
    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None:
            return super()._take_out(entry, deadline)
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        try:
            first = min(children, key=lambda child: int(child[-10:]))
        except ValueError as error:
            raise NoNodeError(self._path) from error
        if not entry.node.endswith(f"/{first}"):
            made(f"{self._path}/{first}", entry.node)
        return self._delete(entry, f"{self._path}/{first}", deadline)
