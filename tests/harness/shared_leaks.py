"""A shared module as careless libraries are: it lets in what no seed decides."""

import _signal  # the simulation replaces ``signal``
import os
import signal
import threading
import time
import uuid
from time import perf_counter

_kept = []


class Member:
    def __init__(self, number):
        self.number = number


def by_address():
    """A builtin set, in the order of its objects' addresses."""
    _kept.append([Member(number) for number in range(50 + len(_kept))])
    return set(_kept[-1])


def from_clock():
    return time.perf_counter()


def from_clock_imported_by_name():
    return perf_counter()  # no guard of an attribute of ``time`` sees this


def from_system():
    return os.urandom(8)


def from_uuid():
    return uuid.uuid4()


def from_thread():
    threading.Thread(target=print).start()


def from_keyboard():
    _signal.raise_signal(signal.SIGINT)
