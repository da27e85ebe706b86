"""Which packages a simulated process gets its own copy of."""

import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from rumpus.simulation.loader.privacy import is_private_package


class Place:
    """A directory with packages, on a path of its own beside the standard library."""

    def __init__(self, directory):
        self.directory = directory
        self.path = (str(directory), *sys.path)

    def package(self, name, source, **files):
        place = self.directory / name
        place.mkdir(parents=True)
        (place / "__init__.py").write_text(source)
        for file, content in files.items():
            (place / f"{file}.py").write_text(content)
        return place

    def is_private(self, name):
        return is_private_package(name, self.path)


@pytest.fixture
def installed(tmp_path):
    return Place(tmp_path / "site-packages")


def test_a_user_s_own_package_is_private_whatever_it_imports(tmp_path):
    own = Place(tmp_path)
    own.package("plain_package_of_a_user", "X = 1\n")
    (tmp_path / "plain_module_of_a_user.py").write_text("X = 1\n")
    assert own.is_private("plain_package_of_a_user")
    assert own.is_private("plain_module_of_a_user")


@pytest.mark.parametrize(
    "line",
    [
        "import threading",
        "import os, time",
        "from time import monotonic",
        "from concurrent.futures import ThreadPoolExecutor",
        "import asyncio.events as events",
        "def late():\n    import random",
        "import urllib.request",
        "from urllib import parse, request",
        "from http.client import HTTPConnection",
        "import smtplib",
        "from wsgiref.simple_server import (make_server)",
    ],
)
def test_an_installed_package_that_uses_time_threads_chance_or_hosts_is_private(installed, line):
    installed.package("worldly", "", part=line)
    assert installed.is_private("worldly")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "import json, functools, re",
        "import contextlib, inspect, shutil",
        "from urllib.parse import urlsplit",
        "from urllib import parse",
        "import email.message, hashlib",
        "# import threading",
        "X = 'import time'",
        "import timeless, threadingly",
        "import no_such_package",
    ],
)
def test_an_installed_package_that_only_computes_is_shared(installed, line):
    installed.package("harmless", "", part=line)
    assert not installed.is_private("harmless")


def test_an_installed_package_with_a_compiled_part_is_shared(installed):
    place = installed.package("compiled", "import threading, time\n")
    (place / "deep").mkdir()
    (place / "deep" / f"part{EXTENSION_SUFFIXES[0]}").touch()
    assert not installed.is_private("compiled")


def test_whoever_imports_a_private_package_is_private_too(installed):
    installed.package("bottom", "import time\n")
    installed.package("middle", "from bottom import nothing\n")
    installed.package("top", "", part="import json, middle.sub\n")
    installed.package("aside", "import json\n")
    assert all(installed.is_private(name) for name in ("top", "middle", "bottom"))
    assert not installed.is_private("aside")


def test_packages_that_import_each_other(installed):
    installed.package("hen", "import egg\n")
    installed.package("egg", "import hen\n")
    assert not installed.is_private("hen")
    installed.package("cock", "import crow\n")
    installed.package("crow", "import cock, time\n")
    assert installed.is_private("cock")


def test_a_package_between_two_that_import_each_other_is_found_private(installed):
    installed.package("first", "import second\n")
    installed.package("second", "import first, third\n")
    installed.package("third", "import time\n")
    assert all(installed.is_private(name) for name in ("second", "first", "third"))


def test_test_tools_and_rumpus_are_shared():
    for name in ("pytest", "_pytest", "hypothesis", "unittest", "xdist", "rumpus"):
        assert not is_private_package(name, tuple(sys.path))


def test_of_the_standard_library_what_uses_time_threads_chance_or_hosts():
    private = (
        "asyncio", "concurrent", "ftplib", "http", "logging", "pickle", "queue", "sched",
        "smtplib", "socketserver", "threading", "urllib", "weakref", "wsgiref", "xmlrpc",
    )  # fmt: skip
    shared = (
        "abc", "contextlib", "copy", "decimal", "email", "enum", "functools", "hashlib",
        "inspect", "io", "itertools", "json", "math", "operator", "re", "string", "traceback",
        "types",
    )  # fmt: skip
    path = tuple(sys.path)
    assert [name for name in private if not is_private_package(name, path)] == []
    assert [name for name in shared if is_private_package(name, path)] == []


class _LoaderOfItsOwn(importlib.machinery.SourceFileLoader):
    """As pytest's, which rewrites assertions."""


def test_a_module_that_only_its_own_loader_finds_is_loaded_from_its_file(world, tmp_path):
    # As pytest's importlib mode and its assertion rewriting leave a test module.
    file = tmp_path / "elsewhere" / "hidden_test_module.py"
    file.parent.mkdir()
    file.write_text("import time\nclass Lock: pass\nSEEN = []\n")
    name = "hidden_test_module"
    spec = importlib.util.spec_from_file_location(
        name, file, loader=_LoaderOfItsOwn(name, str(file))
    )
    real = importlib.util.module_from_spec(spec)
    sys.modules[name] = real
    try:
        spec.loader.exec_module(real)
        assert is_private_package(name, tuple(sys.path))
        one, two = (world.space(host=host).load(name) for host in "ab")
    finally:
        del sys.modules[name]
    assert len({one.Lock, two.Lock, real.Lock}) == 3
    one.SEEN.append(1)
    assert real.SEEN == two.SEEN == []
    assert one.time is not real.time


def test_a_process_s_own_path_comes_first(world):
    (world.directory / "this_is_found_by_path.py").write_text("X = 1\n")
    space = world.space()
    assert space.is_private("this_is_found_by_path")
    assert not space.is_private("json")
    assert not space.is_private("os.path")  # the simulated ``os`` has it
