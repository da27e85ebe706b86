import builtins
import colorsys
import dataclasses
import importlib
import io
import py_compile
import sys
import threading
import time
import warnings

import pytest

from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.loader.modules import annotation_modules


def test_each_process_has_its_own_private_modules(world):
    name = world.write("import threading, json\nCALLS = []\n")
    one, two = world.space(name), world.space(name, host="b")
    one.load(name).CALLS.append(1)
    assert two.load(name).CALLS == []
    assert one.load(name) is one.load(name)
    assert one.load(name).threading is not two.load(name).threading
    assert one.load(name).json is two.load(name).json is sys.modules["json"]
    assert name not in sys.modules


def test_the_real_modules_stay_as_they_are(world):
    before = dict(vars(threading)), dict(vars(time)), dict(vars(builtins))
    world.space().load("kazoo.client")
    assert (dict(vars(threading)), dict(vars(time)), dict(vars(builtins))) == before


def test_what_is_private_is_decided_for_each_process_by_its_own_settings(world):
    name = world.write("import colorsys\n")
    for host, own in (("a", True), ("b", False), ("c", True)):
        space = world.space(name, *(["colorsys"] if own else []), host=host)
        assert space.is_private("colorsys") is own
        assert (space.load(name).colorsys is colorsys) is not own


def test_data_classes_of_processes_are_compiled_once_and_are_their_own(world, monkeypatch):
    name = world.write(
        """
        from dataclasses import dataclass

        @dataclass(frozen=True, order=True)
        class Point:
            x: int
            y: int = 2
        """
    )
    compiled = []

    def count(source, *arguments, **options):
        compiled.append(source)
        return compile(source, *arguments, **options)

    monkeypatch.setattr(annotation_modules, "compile", count, raising=False)
    annotation_modules._compiled.cache_clear()
    points = [world.space(name, host=host).load(name).Point for host in "ab"]
    assert compiled
    assert len(compiled) == len(set(compiled))
    assert points[0] is not points[1]
    assert points[0](1) == points[0](1, 2) < points[0](1, 3)
    assert points[0](1) != points[1](1)
    assert repr(points[1](1)) == "Point(x=1, y=2)"
    assert "exec" not in vars(dataclasses)


def test_packages_with_relative_and_circular_imports(world):
    package = world.directory / "pack_of_three"
    package.mkdir()
    (package / "__init__.py").write_text("from .one import ONE\n")
    (package / "one.py").write_text("from . import two\nONE = 1\ndef both(): return ONE, two.TWO\n")
    (package / "two.py").write_text(
        "from . import one\nimport pack_of_three.one as again\nTWO = 2\n"
    )
    space = world.space("pack_of_three")
    module = space.load("pack_of_three.one")
    assert module.both() == (1, 2)
    assert module.two.again is module.two.one is module
    assert space.load("pack_of_three").ONE == 1


def test_a_package_may_be_private_without_its_submodules(world):
    package = world.directory / "pack_alone"
    package.mkdir()
    (package / "__init__.py").write_text(
        "MADE = []\n"
        "def __getattr__(name):\n"
        "    return getattr(__import__('pack_alone.inner', fromlist=[name]), name)\n"
    )
    (package / "inner.py").write_text("import threading\nTHING = threading\n")
    spaces = [
        world.space("pack_alone.inner", alone=("pack_alone",), host=host) for host in ("a", "b")
    ]
    one, two = [space.load("pack_alone") for space in spaces]
    assert one is not two
    assert one.MADE is not two.MADE
    assert one.THING is not two.THING
    assert one.THING is not threading
    name = world.write("from pack_alone import THING\n")
    assert spaces[0].is_private(name)
    assert spaces[0].load(name).THING is one.THING


def test_a_package_may_be_shared_whatever_is_found(world, monkeypatch):
    name = world.write("import time\nCALLS = []\n")
    monkeypatch.syspath_prepend(world.directory)
    one = world.space(host="a", shared_packages=(name,))
    two = world.space(host="b")
    assert one.load(name) is sys.modules[name]
    assert two.load(name) is not sys.modules[name]


def test_what_cannot_be_imported(world):
    name = world.write(
        """
        def absent():
            from concurrent.futures import nothing_of_this_name
        def relative():
            from . import other
        def broken():
            import program_that_breaks
        """
    )
    (world.directory / "program_that_breaks.py").write_text("1 / 0\n")
    space = world.space(name, "program_that_breaks")
    module = space.load(name)
    with pytest.raises(ImportError):
        module.absent()
    with pytest.raises(ImportError):
        module.relative()
    for _ in range(2):  # what failed is not half there
        with pytest.raises(ZeroDivisionError):
            module.broken()
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        world.space("no_such_module").load("no_such_module")


def test_a_star_import_brings_submodules_that_are_named(world):
    package = world.directory / "starry"
    package.mkdir()
    (package / "__init__.py").write_text("__all__ = ['sub']\n")
    (package / "sub.py").write_text("X = 1\n")
    name = world.write("from starry import *\n")
    assert world.space("starry", name).load(name).sub.X == 1


def test_another_task_waits_for_a_module_that_is_being_imported(world):
    (world.directory / "slow_import.py").write_text("import time\ntime.sleep(5)\nDONE = True\n")
    name = world.write(
        """
        import threading
        SEEN = []
        def look():
            import slow_import
            SEEN.append(slow_import.DONE)
        def main():
            threads = [threading.Thread(target=look) for _ in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """
    )
    space = world.space(name, "slow_import")
    module = space.load(name)
    space.start(module.main)
    world.simulator.run(10 * SECOND)
    assert module.SEEN == [True] * 3
    assert world.simulator.failures == []


def test_files_of_the_program_are_known_and_those_of_the_library_are_not(world):
    name = world.write("import threading, json\n")
    space = world.space(name)
    space.load("kazoo.client")
    module = space.load(name)
    assert space.is_private_file(module.__file__)
    assert space.is_private_file(space.load("kazoo.client").KazooClient.start.__code__.co_filename)
    assert not space.is_private_file(module.threading.Thread.start.__code__.co_filename)
    assert not space.is_private_file(module.json.dumps.__code__.co_filename)


def test_a_program_ends_like_one(world):
    seen = []
    name = world.write(
        """
        import atexit, threading, time
        def worker(say):
            time.sleep(5)
            say("worker")
        def daemon(say):
            time.sleep(9)
            say("never")
        def main(say):
            atexit.register(say, "first registered")
            atexit.register(say, "last registered")
            atexit.unregister(print)
            threading.Thread(target=worker, args=(say,)).start()
            threading.Thread(target=daemon, args=(say,), daemon=True).start()
            say("main")
        """
    )
    space = world.space(name)
    space.start(space.load(name).main, seen.append)
    world.simulator.run(20 * SECOND)
    assert seen == ["main", "worker", "last registered", "first registered"]
    assert space.process.dead
    assert world.simulator.failures == []


def test_an_exception_that_ends_the_program_or_a_thread_is_a_failure_of_the_world(world):
    world.start(
        """
        import threading
        def fail():
            raise ValueError("thread")
        def leave():
            raise SystemExit(3)
        def main():
            for function in (fail, leave):
                thread = threading.Thread(target=function, name=function.__name__)
                thread.start()
                thread.join()
            raise KeyError("main")
        """
    )
    world.simulator.run(SECOND)
    assert [(who, repr(error)) for _, who, error in world.simulator.failures] == [
        ("a/fail", "ValueError('thread')"),
        ("a/main", "KeyError('main')"),
    ]


def test_a_killed_process_does_nothing_more(world):
    seen = []
    name = world.write(
        """
        import atexit, socket, threading, time
        def main(say):
            atexit.register(say, "atexit")
            one, two = socket.socketpair()
            lock = threading.Lock()
            try:
                with lock:
                    time.sleep(5)
            finally:
                say("finally")
                try:
                    one.send(b"x")
                except Exception:
                    say("an exception that a program can catch")
                finally:
                    threading.Thread(target=say, args=("never",)).start()
                    say("never")
        """
    )
    space = world.space(name)
    space.start(space.load(name).main, seen.append)
    world.simulator.call_at(SECOND, lambda _: space.process.kill())
    world.simulator.run(20 * SECOND)
    assert seen == ["finally"]
    assert world.simulator.failures == []
    assert not space.process.tasks


def test_sys_is_that_of_the_process(world, capsys):
    err = io.StringIO()
    module = world.run(
        """
        import sys
        def main():
            global me
            me = sys.modules[__name__]
            print("out", file=sys.stdout)
            print("err", file=sys.stderr)
        """,
        stderr=err,
        argv=["prog", "-x"],
    )
    assert module.me is module
    assert module.sys.argv == ["prog", "-x"]
    assert err.getvalue() == "err\n"
    assert capsys.readouterr().out == "out\n"


def test_a_module_that_another_version_lacks_is_not_taken_from_the_installed_one(world):
    importlib.import_module("kazoo.recipe.lease")
    package = world.directory / "kazoo"
    (package / "recipe").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "recipe" / "__init__.py").write_text("OTHER = True\n")
    name = world.write(
        """
        import kazoo.recipe
        def lease():
            import kazoo.recipe.lease
        """
    )
    program = world.space(name).load(name)
    assert program.kazoo.recipe.OTHER
    with pytest.raises(ModuleNotFoundError, match=r"kazoo\.recipe\.lease"):
        program.lease()


HOOKED = """
import sys
from importlib.util import spec_from_loader
from types import ModuleType

class Moved:
    made = 0
    def find_spec(self, name, path, target=None):
        return spec_from_loader(name, self) if name.startswith(__name__ + ".moved_") else None
    def create_module(self, spec):
        return ModuleType(spec.name)
    def exec_module(self, module):
        Moved.made += 1
        module.PLACE = __import__("threading")
        if module.__name__.endswith("broken"):
            raise ValueError("broken")

sys.meta_path.append(Moved())
__path__ = []
"""


def test_import_hooks_of_a_program_work_in_its_process_and_stay_there(world):
    before = list(sys.meta_path)
    world.write(HOOKED, "hooking")
    name = world.write(
        """
        import hooking
        from hooking.moved_here import PLACE
        import hooking.moved_here as again
        def broken():
            import hooking.moved_broken
        def absent():
            import hooking.absent
        """
    )
    space = world.space(name, "hooking")
    program = space.load(name)
    assert program.PLACE is space.load("threading") is program.again.PLACE
    assert program.hooking.Moved.made == 1
    for _ in range(2):  # what failed is not half there
        with pytest.raises(ValueError, match="broken"):
            program.broken()
    with pytest.raises(ModuleNotFoundError, match=r"hooking\.absent"):
        program.absent()
    assert sys.meta_path == before
    assert "hooking.moved_here" not in sys.modules


def test_a_module_that_python_has_compiled_is_compiled_again_without_its_warnings(world):
    name = world.write("""PATTERN = "\\d"\nNAMES = {"a"}\n""")
    file = world.directory / f"{name}.py"
    with pytest.warns((DeprecationWarning, SyntaxWarning), match="invalid escape sequence"):
        py_compile.compile(str(file), doraise=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert world.space(name).load(name).PATTERN == "\\d"
