import errno
import io
import os
import signal

import pytest

from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.loader.refusals import Forbidden


def test_a_process_knows_itself(world):
    one, two = world.space().load("os"), world.space(host="b").load("os")
    assert one.getpid() != two.getpid()
    assert one.cpu_count() == len(one.sched_getaffinity(0)) == 4
    assert one.path is os.path
    assert one.environ is os.environ


def test_os_exit_ends_the_process_at_once(world):
    module = world.start(
        """
        import atexit, os, threading
        seen = []
        def main():
            atexit.register(seen.append, "never")
            def leave():
                os._exit(1)
                seen.append("never")
            threading.Thread(target=leave).start()
            threading.Event().wait()
            seen.append("never")
        """
    )
    world.simulator.run(SECOND)
    assert module.seen == []
    assert world.simulator.failures == []
    assert all(process.dead for process in world.simulator.processes)


def test_signals_reach_other_processes_of_the_world(world):
    victim = world.space(host="victim").process
    operating_system = world.space(host="b").load("os")
    operating_system.kill(victim.pid, signal.SIGSTOP)
    assert victim.frozen
    operating_system.kill(victim.pid, 0)
    operating_system.kill(victim.pid, signal.SIGCONT)
    assert not victim.frozen
    operating_system.kill(victim.pid, signal.SIGKILL)
    assert victim.dead
    with pytest.raises(ProcessLookupError):
        operating_system.kill(victim.pid, signal.SIGKILL)


def test_signal_handlers_are_registered_and_never_called(world):
    module = world.space().load("signal")
    assert module.signal(signal.SIGTERM, print) == signal.SIG_DFL
    assert module.getsignal(signal.SIGTERM) is print
    assert signal.getsignal(signal.SIGTERM) is not print
    with pytest.raises(Forbidden, match=r"signal\.alarm"):
        module.alarm(1)


def test_pipes_block_until_there_is_something(world):
    module = world.run(
        """
        import os, threading, time
        def main():
            global seen, waited, rest
            reader, writer = os.pipe()
            before = time.monotonic()
            threading.Timer(2, os.write, (writer, b"hello")).start()
            seen = os.read(reader, 3), os.read(reader, 99)
            waited = time.monotonic() - before
            total = []
            def drain():
                while data := os.read(reader, 70_000):
                    total.append(len(data))
                    time.sleep(0.1)
            thread = threading.Thread(target=drain)
            thread.start()
            assert os.write(writer, bytes(200_000)) == 200_000
            os.close(writer)
            thread.join()
            rest = total
            os.close(reader)
        """
    )
    assert module.seen == (b"hel", b"lo")
    assert module.waited == pytest.approx(2, abs=0.01)
    assert sum(module.rest) == 200_000
    assert max(module.rest) <= 65_536


def test_pipes_that_do_not_block(world):
    system = world.space().load("os")
    reader, writer = system.pipe()
    for end in (reader, writer):
        assert system.get_blocking(end)
        system.set_blocking(end, False)
    with pytest.raises(BlockingIOError):
        system.read(reader, 1)
    assert system.write(writer, bytes(100_000)) == 65_536
    with pytest.raises(BlockingIOError):
        system.write(writer, b"x")
    assert len(system.read(reader, 100_000)) == 65_536
    for action in (lambda: system.write(reader, b""), lambda: system.read(writer, 1)):
        with pytest.raises(OSError, match="Bad file descriptor"):
            action()
    system.close(reader)
    with pytest.raises(BrokenPipeError):
        system.write(writer, b"x")
    system.close(writer)
    for number in (reader, writer):
        with pytest.raises(OSError, match="Bad file descriptor") as caught:
            system.close(number)
        assert caught.value.errno == errno.EBADF


def test_real_files_are_the_real_ones(world, tmp_path):
    system = world.space().load("os")
    file = system.open(tmp_path / "x", os.O_CREAT | os.O_RDWR)
    assert system.write(file, b"abc") == 3
    system.lseek(file, 0, os.SEEK_SET)
    assert system.read(file, 9) == b"abc"
    system.close(file)
    assert (tmp_path / "x").read_bytes() == b"abc"


def test_flags_of_simulated_files_are_nothing(world):
    space = world.space()
    module, system = space.load("fcntl"), space.load("os")
    reader, _ = system.pipe()
    assert module.fcntl(reader, module.F_SETFD, module.FD_CLOEXEC) == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        module.fcntl(reader + 1000, module.F_GETFD)


def test_modules_that_leave_the_world_can_be_imported_but_not_used(world):
    name = world.write(
        """
        import asyncio, multiprocessing.pool, subprocess, tempfile
        from subprocess import PIPE, CalledProcessError
        class Mine(multiprocessing.pool.Pool): pass
        def run(): subprocess.run(["true"])
        def make(): Mine()
        def start(): asyncio.run(asyncio.create_subprocess_exec("true"))
        def fork():
            import os
            os.fork()
        def temporary(): tempfile.mkdtemp()
        def system():
            import os
            os.system("true")
        """
    )
    module = world.space(name).load(name)
    assert module.PIPE == -1
    assert issubclass(module.CalledProcessError, Exception)
    for function, what in (
        (module.run, "subprocess.run"),
        (module.make, "multiprocessing.pool.Pool"),
        (module.start, "subprocess.Popen"),
        (module.fork, "os.fork"),
        (module.temporary, "tempfile.mkdtemp"),
        (module.system, "os.system"),
    ):
        line = function.__code__.co_firstlineno + what.startswith("os.") * 2
        with pytest.raises(Forbidden, match=rf"{name}\.py:{line}\) calls {what}"):
            function()
    assert not hasattr(module.subprocess, "no_such_name")
    executor = world.space().load("concurrent.futures").ProcessPoolExecutor
    with pytest.raises(Forbidden):
        executor()


def test_what_a_program_asks_of_multiprocessing_without_leaving_the_world(world):
    module = world.space().load("multiprocessing")
    assert module.cpu_count() == 4
    assert module.current_process().name == "MainProcess"
    assert module.active_children() == []
    assert module.parent_process() is None


def test_functions_for_forks_and_signals_that_never_come_do_nothing(world):
    space = world.space()
    assert space.load("os").register_at_fork(before=print) is None
    module = space.load("signal")
    assert module.set_wakeup_fd(7) == -1
    assert module.set_wakeup_fd(-1, warn_on_full_buffer=False) == 7


def test_another_protocol_than_tcp_is_refused(world):
    module = world.space().load("socket")
    for kind in ((module.AF_INET, module.SOCK_DGRAM), (module.AF_UNIX, module.SOCK_STREAM)):
        with pytest.raises(Forbidden, match="for another protocol than TCP"):
            module.socket(*kind)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1])
def test_signals_that_end_a_real_process_end_a_simulated_one(world, number):
    victim = world.space(host="victim").process
    world.space(host="b").load("os").kill(victim.pid, number)
    assert victim.dead


@pytest.mark.parametrize("number", [signal.SIGCHLD, signal.SIGWINCH, signal.SIGPIPE])
def test_signals_that_a_real_process_ignores_do_nothing(world, number):
    victim = world.space(host="victim").process
    world.space(host="b").load("os").kill(victim.pid, number)
    assert not victim.dead
    assert not victim.frozen


def test_what_is_no_signal_is_refused(world):
    victim = world.space(host="victim").process
    with pytest.raises(OSError, match="Invalid argument"):
        world.space(host="b").load("os").kill(victim.pid, 999)


def test_what_a_program_prints_goes_to_its_own_streams(world, capfd):
    out, err = io.StringIO(), io.StringIO()
    world.run(
        """
        import os, sys
        def main():
            print("one", "two", sep="-")
            print("to err", file=sys.stderr)
            os.write(1, b"raw")
            os.write(2, b"raw err")
            assert os.read(0, 10) == b""
            for number in (0, 1, 2):
                os.close(number)
            assert os.write(1, b"lost") == 4
        """,
        stdout=out,
        stderr=err,
    )
    assert (out.getvalue(), err.getvalue()) == ("one-two\nraw", "to err\nraw err")
    os.write(1, b"ours")  # it is still open
    assert capfd.readouterr() == ("ours", "")
