"""How a simulated module is put together from a real one."""

import atexit
import collections
import ctypes
import ctypes.util
import dataclasses
import datetime  # noqa: ICN001 - the module itself is meant
import fcntl
import os
import random
import select
import selectors
import signal
import socket
import ssl
import time
import typing
import uuid
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

_NAMES: Final = {
    module.__name__: dict(module.__dict__)
    for module in (
        atexit, collections, ctypes, ctypes.util, dataclasses, datetime, fcntl, os, random, select,
        selectors, signal, socket, ssl, time, typing, uuid,
    )
}  # fmt: skip
"""What real modules hold, taken before guards are in place."""


def simulated(real: ModuleType, **replaced: Any) -> ModuleType:
    """A module with the names of a real one, some of them replaced."""
    names = _NAMES[real.__name__]
    module = ModuleType(real.__name__)
    namespace = module.__dict__
    namespace.update(names)
    for name, value in replaced.items():
        if isinstance(value, FunctionType) and isinstance(names.get(name), BuiltinFunctionType):
            # Builtin functions do not become methods where a class has them as attributes.
            namespace[name] = partial(value)
        else:
            namespace[name] = value
    return module
