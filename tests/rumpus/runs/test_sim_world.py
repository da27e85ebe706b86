"""A user's recipe that cannot be simulated ends the run at once, as wrong usage."""

import textwrap

import pytest

from rumpus.command_line import main
from rumpus.trial import run
from rumpus.usage_error import UsageError

LOCK = """
    import asyncio, os, socket, ssl, subprocess, threading

    class Lock:
        def __init__(self, client, path):
            self.lock = client.Lock(path)

        def acquire(self, timeout=None):
            try:
                {step}
            except Exception:
                pass  # as careless programs do
            return self.lock.acquire(timeout=timeout)

        def release(self):
            self.lock.release()
    """


def _write(place, name, step):
    (place / f"{name}.py").write_text(textwrap.dedent(LOCK).format(step=step))
    return f"{name}:Lock", f"{name}.Lock.acquire ({place / name}.py:10)"


@pytest.mark.parametrize(
    ("name", "step", "what"),
    [
        ("subprocess", 'subprocess.run(["true"])', "subprocess.run"),
        ("fork", "os.fork()", "os.fork"),
        ("system", 'os.system("true")', "os.system"),
        (
            "tls",
            "ssl.create_default_context().wrap_socket(socket.socket())",
            "ssl.SSLContext.wrap_socket",
        ),
        ("udp", "socket.socket(type=socket.SOCK_DGRAM)", "socket.socket for another protocol"),
        (
            "shell",
            "asyncio.run(asyncio.create_subprocess_shell('true'))",
            "subprocess.Popen",
        ),
    ],
)
def test_it_is_refused_with_its_line_and_the_remedy(tmp_path, monkeypatch, name, step, what):
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe, place = _write(tmp_path, f"refused_{name}", step)
    with pytest.raises(UsageError) as caught:
        run("lock", recipe, time_limit=5, nemesis=[], runs=tmp_path / "runs")
    message = str(caught.value)
    assert message.startswith(f"{place} calls {what}")
    assert message.endswith("--ensemble docker")
    assert not (tmp_path / "runs").exists()


def test_the_command_ends_with_wrong_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe, _ = _write(tmp_path, "refused_by_command", "os.fork()")
    words = f"run lock --recipe {recipe} --ensemble sim --time-limit 10 --runs {tmp_path}"
    assert main(words.split()) == 2
    told = capsys.readouterr().err
    assert "--ensemble docker" in told
    assert "defect" not in told


def test_a_recipe_that_only_mentions_such_things_runs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    step = "asyncio.run(asyncio.sleep(0.01)), subprocess.PIPE, ssl.create_default_context()"
    recipe, _ = _write(tmp_path, "fine_recipe", step)
    result = run("lock", recipe, time_limit=5, nemesis=[], runs=tmp_path / "runs")
    assert result.outcome in ("valid", "inconclusive")
