"""``select`` and ``selectors``: waiting for simulated sockets and pipes."""

import errno
import os
import select
import selectors
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, Self

from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.loader.modules.descriptor import READ, WRITE, Descriptor, wait_for_any
from rumpus.simulation.loader.modules.pipes import broken
from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

_new_key = selectors.SelectorKey.__new__


def _number_of(file: Any) -> int:
    """Raises ValueError if it is no open file, as ``selectors`` does."""
    if isinstance(file, int):
        number = file
    else:
        try:
            number = int(file.fileno())
        except (AttributeError, TypeError, ValueError):
            raise ValueError(f"Invalid file object: {file!r}") from None
    if number < 0:
        raise ValueError(f"Invalid file descriptor: {number}")
    return number


class Selector:
    """``selectors.DefaultSelector`` of a process, which is that of its class."""

    _runtime: Runtime

    def __init__(self) -> None:
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._wanted: list[tuple[Descriptor, int]] | None = None
        self._map: Mapping[Any, selectors.SelectorKey] | None = None

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As ``selectors.BaseSelector.register``.

        Raises:
            OSError: EBADF, if it is no descriptor of the process.
            KeyError: registered already.
            ValueError: no file, or no events.
        """
        if not events or events & ~3:
            raise ValueError(f"Invalid events: {events!r}")
        number = fileobj if type(fileobj) is int and fileobj >= 0 else _number_of(fileobj)
        if number in self._keys:
            raise KeyError(f"{fileobj!r} (FD {number}) is already registered")
        if number not in self._runtime.files.by_number:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        key = _new_key(selectors.SelectorKey, fileobj, number, events, data)
        self._keys[number] = key
        self._wanted = None
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """As ``selectors.BaseSelector.unregister``.

        Raises:
            KeyError: not registered.
        """
        number = self._find(fileobj)
        self._wanted = None
        return self._keys.pop(number)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As ``selectors.BaseSelector.modify``.

        Raises:
            KeyError: not registered.
            ValueError: no events.
        """
        number = self._find(fileobj)
        if not events or events & ~3:
            raise ValueError(f"Invalid events: {events!r}")
        key = self._keys[number]._replace(events=events, data=data)
        self._keys[number] = key
        self._wanted = None
        return key

    def _find(self, file: Any) -> int:
        try:
            number = _number_of(file)
        except ValueError:  # closed meanwhile
            for number, key in self._keys.items():
                if key.fileobj is file:
                    return number
            raise
        if number not in self._keys:
            raise KeyError(f"{file!r} is not registered")
        return number

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        """As ``selectors.BaseSelector.get_key``.

        Raises:
            KeyError: not registered.
        """
        return self._keys[self._find(fileobj)]

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """As ``selectors.BaseSelector.get_map``, with the keys' file objects or numbers."""
        return _FileMap(self)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As ``selectors.BaseSelector.select``."""
        runtime = self._runtime
        simulator = runtime.simulator
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if runtime.process.dead:
            raise ProcessKilled
        ready = self._ready()
        if ready or (timeout is not None and timeout <= 0):
            return ready
        wanted = self._wanted
        if wanted is None:
            descriptors = runtime.files.by_number
            wanted = self._wanted = [
                (descriptors[number], key.events)
                for number, key in self._keys.items()
                if number in descriptors
            ]
        wait_for_any(runtime.files, wanted, timeout, "select")
        return self._ready()

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        descriptors = self._runtime.files.by_number
        ready = []
        for number, key in self._keys.items():
            descriptor = descriptors.get(number)
            if descriptor is not None:  # what was closed is forgotten, as by epoll
                events = 0
                if descriptor.ready_to_read:
                    events = READ
                if descriptor.ready_to_write:
                    events |= WRITE
                events &= key.events
                if events:
                    ready.append((key, events))
        return ready

    def close(self) -> None:
        """As ``selectors.BaseSelector.close``."""
        self._keys.clear()
        self._wanted = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Not BaseSelector.register, which is for files.
ABCMeta.register(selectors.BaseSelector, Selector)


class _FileMap(Mapping[Any, selectors.SelectorKey]):
    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __len__(self) -> int:
        return len(self._selector._keys)  # noqa: SLF001 - a view of it

    def __getitem__(self, file: Any) -> selectors.SelectorKey:
        try:
            return self._selector.get_key(file)
        except ValueError as error:
            raise KeyError(f"{file!r} is not registered") from error

    def __iter__(self) -> Any:
        return iter(self._selector._keys)  # noqa: SLF001 - as above


def build_selectors(runtime: Runtime) -> ModuleType:
    """The ``selectors`` of a process. All its selectors are of one kind."""
    kind = type("DefaultSelector", (Selector,), {"_runtime": runtime, "__module__": "selectors"})
    names = ("DefaultSelector", "EpollSelector", "PollSelector", "SelectSelector")
    return simulated(selectors, **dict.fromkeys(names, kind))


def build_select(runtime: Runtime) -> ModuleType:
    """The ``select`` of a process."""
    descriptors = runtime.files.by_number
    simulator = runtime.simulator

    def find(files: Iterable[Any]) -> list[tuple[Any, Descriptor]]:
        return [(file, runtime.files.find(_number_of(file))) for file in files]

    def select_(
        rlist: Iterable[Any],
        wlist: Iterable[Any],
        xlist: Iterable[Any],
        timeout: float | None = None,
        /,
    ) -> tuple[list[Any], list[Any], list[Any]]:
        if simulator.interrupts is not None:
            simulator.interrupts.at_primitive(simulator)
        if runtime.process.dead:
            raise ProcessKilled
        if timeout is not None and timeout < 0:
            raise ValueError("timeout must be non-negative")
        readers, writers = find(rlist), find(wlist)
        find(xlist)

        def ready() -> tuple[list[Any], list[Any], list[Any]]:
            return (
                [file for file, descriptor in readers if descriptor.ready_to_read],
                [file for file, descriptor in writers if descriptor.ready_to_write],
                [],
            )

        found = ready()
        if found[0] or found[1] or timeout == 0:
            return found
        wanted = [(descriptor, READ) for _, descriptor in readers]
        wanted += [(descriptor, WRITE) for _, descriptor in writers]
        wait_for_any(runtime.files, wanted, timeout, "select")
        return ready()

    class Poll:
        def __init__(self) -> None:
            self._events: dict[int, int] = {}

        def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLOUT, /) -> None:
            self._events[_number_of(fd)] = eventmask

        def modify(self, fd: Any, eventmask: int, /) -> None:
            if _number_of(fd) not in self._events:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            self._events[_number_of(fd)] = eventmask

        def unregister(self, fd: Any, /) -> None:
            del self._events[_number_of(fd)]

        def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
            def ready() -> list[tuple[int, int]]:
                found = []
                for number, mask in self._events.items():
                    descriptor = descriptors.get(number)
                    if descriptor is None:
                        found.append((number, select.POLLNVAL))
                        continue
                    events = mask & (
                        (select.POLLIN if descriptor.ready_to_read else 0)
                        | (select.POLLOUT if descriptor.ready_to_write else 0)
                    )
                    if events:
                        found.append((number, events))
                return found

            if simulator.interrupts is not None:
                simulator.interrupts.at_primitive(simulator)
            if runtime.process.dead:
                raise ProcessKilled
            found = ready()
            if not found and timeout != 0:
                wanted = [
                    (
                        descriptors[number],
                        (READ if mask & select.POLLIN else 0)
                        | (WRITE if mask & select.POLLOUT else 0),
                    )
                    for number, mask in self._events.items()
                ]
                seconds = None if timeout is None or timeout < 0 else timeout / 1000
                wait_for_any(runtime.files, wanted, seconds, "poll")
                found = ready()
            return found

    class Epoll(Poll):
        """Level triggered; EPOLLIN, EPOLLOUT and EPOLLNVAL have the numbers of ``poll``."""

        def __init__(self, sizehint: int = -1, flags: int = 0) -> None:
            super().__init__()
            del sizehint, flags
            self.closed = False

        def register(self, fd: Any, eventmask: int = select.EPOLLIN | select.EPOLLOUT) -> None:
            number = _number_of(fd)
            runtime.files.find(number)
            if number in self._events:
                raise broken(errno.EEXIST)
            if eventmask & select.EPOLLET:
                refusing(runtime, "select.epoll with edge-triggered events")()
            super().register(number, eventmask)

        def unregister(self, fd: Any) -> None:
            if self._events.pop(_number_of(fd), None) is None:
                raise broken(errno.ENOENT)

        def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
            if self.closed:
                raise ValueError("I/O operation on closed epoll object")
            for number in [number for number in self._events if number not in descriptors]:
                del self._events[number]  # what was closed is forgotten
            found = super().poll(None if timeout is None or timeout < 0 else timeout * 1000)
            if maxevents >= 0:
                del found[maxevents:]
            for number, _ in found:
                if self._events[number] & select.EPOLLONESHOT:
                    self._events[number] = select.EPOLLONESHOT  # nothing more until ``modify``
            return found

        def close(self) -> None:
            self.closed = True
            self._events.clear()

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

    return simulated(select, epoll=Epoll, poll=Poll, select=select_)
