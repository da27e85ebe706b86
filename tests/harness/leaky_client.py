"""Lock clients that pause for a time that no seed decides."""

import time

from rumpus.workloads.contests import lock
from tests.harness import shared_leaks

SMALL = 1e-6


class Leaky:
    def __init__(self, honest, draw):
        self._honest = honest
        self._draw = draw

    def __getattr__(self, name):
        return getattr(self._honest, name)

    def invoke(self, f, value):
        time.sleep(self._draw() * SMALL)
        return self._honest.invoke(f, value)


def _client(options, draw):
    build = lock.LOCK.builder(**options)
    return lambda context: Leaky(build(context), draw)


def none(**options):
    return _client(options, lambda: len(shared_leaks.by_address()))


def by_address(**options):
    return _client(options, lambda: next(iter(shared_leaks.by_address())).number)


def from_clock(**options):
    return _client(options, lambda: shared_leaks.from_clock() % 1000)


def from_clock_imported_by_name(**options):
    return _client(options, lambda: shared_leaks.from_clock_imported_by_name() % 1000)


def from_system(**options):
    return _client(options, lambda: shared_leaks.from_system()[0])


def from_uuid(**options):
    return _client(options, lambda: shared_leaks.from_uuid().int % 1000)


def from_thread(**options):
    return _client(options, lambda: shared_leaks.from_thread() or 0)


def from_keyboard(**options):
    return _client(options, lambda: shared_leaks.from_keyboard() or 0)


class Busy(Leaky):
    def invoke(self, f, value):
        while f:
            pass
        return self._honest.invoke(f, value)


def busy(**options):
    build = lock.LOCK.builder(**options)
    return lambda context: Busy(build(context), None)
