"""``datetime``: now and today come from the process's clock; local time is UTC."""

import datetime  # noqa: ICN001 - the module itself is meant
from types import ModuleType
from typing import Any, Self

from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime


class _Kind(type):
    """Lets dates that shared modules have made count as instances, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls.__mro__[1] in subclass.__mro__


def build(runtime: Runtime) -> ModuleType:
    """The ``datetime`` of a process."""
    wall = runtime.process.clock.wall
    utc = datetime.UTC

    class Moment(datetime.datetime, metaclass=_Kind):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Self:
            return cls._at(wall(), tz)

        @classmethod
        def utcnow(cls) -> Self:
            return cls._at(wall(), None)

        @classmethod
        def today(cls) -> Self:
            return cls._at(wall(), None)

        @classmethod
        def fromtimestamp(cls, timestamp: float, tz: datetime.tzinfo | None = None) -> Self:
            moment = super().fromtimestamp(timestamp, tz or utc)
            return moment if tz else moment.replace(tzinfo=None)

        @classmethod
        def _at(cls, nanoseconds: int, tz: datetime.tzinfo | None) -> Self:
            seconds, rest = divmod(nanoseconds, 1_000_000_000)
            return cls.fromtimestamp(seconds, tz) + datetime.timedelta(microseconds=rest // 1000)

        def timestamp(self) -> float:
            aware = self if self.tzinfo is not None else self.replace(tzinfo=utc)
            return datetime.datetime.timestamp(aware)

        def astimezone(self, tz: datetime.tzinfo | None = None) -> Self:
            aware = self if self.tzinfo is not None else self.replace(tzinfo=utc)
            moved: Any = datetime.datetime.astimezone(aware, tz or utc)
            return moved  # type: ignore[no-any-return]

    class Day(datetime.date, metaclass=_Kind):
        @classmethod
        def today(cls) -> Self:
            return cls.fromtimestamp(wall() / 1e9)

        @classmethod
        def fromtimestamp(cls, timestamp: float, /) -> Self:
            moment = datetime.datetime.fromtimestamp(timestamp, utc)
            return cls(moment.year, moment.month, moment.day)

    for made, name in ((Moment, "datetime"), (Day, "date")):
        made.__name__ = made.__qualname__ = name
        made.__module__ = "datetime"
    return simulated(datetime, datetime=Moment, date=Day)
