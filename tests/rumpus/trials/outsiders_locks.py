"""Locks as people write them who have never seen this project: plain kazoo."""

import contextlib
import threading
import time
import uuid

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError


class WrongLock:
    """An ephemeral node; release deletes it by its path, whoever's it is by then."""

    def __init__(self, client, path):
        self.client = client
        self.path = path

    def acquire(self, timeout):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                self.client.create(self.path, ephemeral=True, makepath=True)
            except NodeExistsError:
                gone = threading.Event()
                if self.client.exists(self.path, watch=lambda _event, gone=gone: gone.set()):
                    gone.wait(max(0.0, end - time.monotonic()))
            else:
                return True
        return False

    def release(self):
        with contextlib.suppress(NoNodeError):
            self.client.delete(self.path)


class MendedLock:
    """The node says who made it. Only that node is deleted, and until it is certainly gone."""

    def __init__(self, client, path):
        self.client = client
        self.path = path
        self.mine = b""

    def acquire(self, timeout):
        end = time.monotonic() + timeout
        self._remove_mine()
        self.mine = uuid.uuid4().hex.encode()
        while time.monotonic() < end:
            gone = threading.Event()
            try:
                self.client.create(self.path, self.mine, ephemeral=True, makepath=True)
            except NodeExistsError:
                try:
                    data, _ = self.client.get(self.path, watch=lambda _event, gone=gone: gone.set())
                except NoNodeError:
                    continue
                if data == self.mine:  # made by a request whose reply was lost
                    return True
                gone.wait(min(1.0, max(0.0, end - time.monotonic())))
            else:
                return True
        return False

    def release(self):
        self._remove_mine()

    def _remove_mine(self):
        while self.mine:
            try:
                data, stat = self.client.get(self.path)
                if data == self.mine:
                    self.client.delete(self.path, version=stat.version)
            except NoNodeError:
                pass
            except KazooException:
                time.sleep(0.1)
                continue
            self.mine = b""


def made_by_a_function(client, path):
    return MendedLock(client, path)


class RaisesAtTimes(MendedLock):
    calls = 0

    def acquire(self, timeout):
        self.calls += 1
        if self.calls % 20 == 0:
            return [].index(self)
        return super().acquire(timeout)


class CannotBeMade(MendedLock):
    def __init__(self, client, path):
        super().__init__(client, path)
        raise RuntimeError("no settings")


class EndsItsProcess(MendedLock):
    def release(self):
        super().release()
        raise SystemExit(3)


class HangsInRelease(MendedLock):
    def release(self):
        threading.Event().wait()


class WithoutRelease:
    def __init__(self, client, path):
        pass

    def acquire(self):
        return True


class AsksWhenMade(WrongLock):
    """Its constructor asks the servers."""

    def __init__(self, client, path):
        client.ensure_path(path.rpartition("/")[0])
        super().__init__(client, path)


class TakesAnyOption(WrongLock):
    """What it means by ``name`` is not the client's name."""

    def __init__(self, client, path, **options):
        super().__init__(client, path + options.get("name", ""))


class RefusesAtOnce(MendedLock):
    def acquire(self, timeout):
        return timeout < 0


class ComputesForEver(MendedLock):
    def acquire(self, timeout):
        while timeout:
            pass


class Rebound(MendedLock):
    """Its module has something else by its name."""


ReboundBefore = Rebound
Rebound = WrongLock


class LosesAThread(MendedLock):
    """Release is finished by a thread, which makes a mistake that nobody hears of."""

    def release(self):
        super().release()
        threading.Thread(target=self._tidy).start()

    def _tidy(self):
        [].remove("what is left")
