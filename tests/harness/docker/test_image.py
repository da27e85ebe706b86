import fcntl
import io
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest

from rumpus.harness.docker import image as docker_image
from rumpus.harness.docker.image import (
    IF_ENGINE,
    build_context,
    ensure_image,
    ensure_node_image,
    image_tag,
    main,
)
from rumpus.harness.docker.watched_command import watched
from rumpus.harness.ensemble import EnvironmentRefusal


@pytest.fixture
def context(tmp_path, monkeypatch):
    """A build context of the test's own."""
    folder = tmp_path / "zookeeper"
    folder.mkdir()
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n")
    monkeypatch.setattr(docker_image, "build_context", lambda _system="zookeeper": folder)
    return folder


def test_tag_is_the_hash_of_what_is_built(context):
    first = image_tag()
    assert first == image_tag()
    assert first.startswith("rumpus/zookeeper:")
    script = context / "entrypoint.sh"
    script.write_text("exec true\n")
    second = image_tag()
    script.chmod(0o755)
    third = image_tag()
    script.rename(context / "start.sh")
    fourth = image_tag()
    (context / "start.sh").write_text("exec false\n")
    assert len({first, second, third, fourth, image_tag()}) == 5


@pytest.mark.usefixtures("context")
def test_each_version_has_an_image_of_its_own_and_other_systems_have_none():
    assert image_tag(version="3.8.0") == image_tag()
    assert image_tag(version="3.9.6") == image_tag().replace(":3.8.0-", ":3.9.6-")
    assert image_tag("redis", "3.9.6") == image_tag("redis")


@pytest.mark.usefixtures("context")
def test_an_image_of_a_version_is_built_and_not_pulled(monkeypatch, tmp_path):
    built = []
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(docker_image, "is_there", lambda *_: False)
    monkeypatch.setattr(docker_image, "_pull", lambda _: None)
    monkeypatch.setattr(docker_image, "_build", lambda *arguments: built.append(arguments[1:4]))
    name = image_tag(version="3.4.13")
    assert ensure_image(None, name) == name
    assert built == [("zookeeper", "3.4.13", "debian:bullseye-slim")]


def test_build_context_is_the_checkouts():
    assert (build_context() / "docker-entrypoint.sh").is_file()


def test_build_context_that_is_nowhere_is_a_refusal(monkeypatch, tmp_path):
    monkeypatch.setattr(docker_image, "__file__", str(tmp_path / "harness" / "docker" / "image.py"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "prefix"))
    with pytest.raises(EnvironmentRefusal, match="run from a checkout"):
        build_context()
    installed = tmp_path / "prefix" / "share" / "rumpus" / "docker" / "zookeeper"
    installed.mkdir(parents=True)
    (installed / "Dockerfile").touch()
    assert build_context() == installed


@pytest.mark.docker
def test_image_is_built_once_though_two_ask_at_a_time(engine, context, monkeypatch):
    base = ensure_node_image_of_the_project(engine, monkeypatch)
    (context / "Dockerfile").write_text(f"ARG BASE\nFROM ${{BASE}}\nLABEL test={context}\n")
    monkeypatch.setattr(docker_image, "_base", lambda *_: base)
    reports = [[], []]
    threads = [
        threading.Thread(target=ensure_node_image, args=(engine, lines.append)) for lines in reports
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert engine.images.get(image_tag()).labels["test"] == str(context)
        assert sum(line.startswith("building ") for lines in reports for line in lines) == 1
        again = []
        assert ensure_node_image(engine, again.append) == image_tag()
        assert again == []
    finally:
        engine.images.remove(image_tag())


def ensure_node_image_of_the_project(engine, monkeypatch):
    with monkeypatch.context() as whole:
        whole.setattr(docker_image, "build_context", build_context)
        return ensure_node_image(engine)


@pytest.mark.docker
def test_build_that_fails_is_a_refusal_with_its_last_words(engine, context, monkeypatch):
    base = ensure_node_image_of_the_project(engine, monkeypatch)
    monkeypatch.setattr(docker_image, "_base", lambda *_: base)
    (context / "Dockerfile").write_text(
        "ARG BASE\nFROM ${BASE}\nRUN echo mirror is down && exit 9\n"
    )
    with pytest.raises(
        EnvironmentRefusal, match=r"(?s)code: 9; the mirror of .* Its last words.*mirror is down"
    ):
        ensure_node_image(engine)


@pytest.mark.docker
def test_whoever_comes_second_says_that_it_waits(engine, context, monkeypatch):
    base = ensure_node_image_of_the_project(engine, monkeypatch)
    monkeypatch.setattr(docker_image, "_base", lambda *_: base)
    (context / "Dockerfile").write_text(f"ARG BASE\nFROM ${{BASE}}\nLABEL test={context}-2\n")
    waits = threading.Event()

    def report(line):
        if line.startswith("waiting for another process"):
            waits.set()

    try:
        with docker_image._only_builder(lambda _: None):
            other = threading.Thread(target=ensure_node_image, args=(engine, report))
            other.start()
            assert waits.wait(10)
            assert not docker_image.is_there(engine, image_tag())
        other.join()
        assert docker_image.is_there(engine, image_tag())
    finally:
        engine.images.remove(image_tag())


@pytest.mark.docker
def test_command_says_that_the_image_is_there(capsys):
    assert main() == 0
    assert f"{image_tag()} is there" in capsys.readouterr().err


def test_command_without_engine_says_why_and_fails(capsys, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    assert main() == 4
    assert "no Docker engine answers" in capsys.readouterr().err


def test_command_without_engine_is_content_where_none_is_needed(capsys, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    assert main([IF_ENGINE]) == 0
    assert "runs are simulated" in capsys.readouterr().err


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rumpus/never-built", "is not on this engine and cannot be pulled"),
        ("localhost:1/rumpus/never-built:3", "is not on this engine and cannot be pulled"),
        ("Not A Name", "is not an image's name"),
    ],
)
def test_image_that_is_not_to_be_had_is_a_refusal(engine, name, said):
    with pytest.raises(EnvironmentRefusal, match=f"{name}.* {said}"):
        ensure_image(engine, name)


@pytest.fixture
def no_registry(monkeypatch):
    """No base on the engine, and no registry."""
    monkeypatch.setattr(docker_image, "is_there", lambda *_: False)
    monkeypatch.setattr(docker_image, "_pull", lambda _: "no such host")


@pytest.fixture
def debootstrap(monkeypatch, tmp_path):
    def replaced(script):
        fake = tmp_path / "debootstrap"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.setattr("os.getuid", lambda: 0)

    return replaced


@pytest.mark.usefixtures("no_registry")
class TestBaseWithoutRegistry:
    def test_needs_root(self, monkeypatch):
        monkeypatch.setattr("os.getuid", lambda: 1000)
        with pytest.raises(EnvironmentRefusal, match=r"no such host.*once as root"):
            docker_image._base(None, "bookworm", lambda _: None)

    def test_needs_debootstrap_or_apt(self, monkeypatch):
        monkeypatch.setattr("os.getuid", lambda: 0)
        monkeypatch.setattr("shutil.which", lambda _: None)
        with pytest.raises(EnvironmentRefusal, match=r"debootstrap.* not installed: install it"):
            docker_image._base(None, "bookworm", lambda _: None)

    def test_mirror_that_fails_is_named(self, monkeypatch, debootstrap):
        debootstrap('echo "E: nothing at $4"\nexit 1')
        monkeypatch.setenv("RUMPUS_DEBIAN_MIRROR", "http://mirror.invalid/debian")
        said = r"(?s)RUMPUS_DEBIAN_MIRROR.*E: nothing at http://mirror.invalid/debian"
        with pytest.raises(EnvironmentRefusal, match=said):
            docker_image._base(None, "bookworm", lambda _: None)

    def test_debootstrap_makes_it_and_the_engine_gets_it(self, debootstrap, monkeypatch, tmp_path):
        debootstrap(
            'mkdir -p "$3/etc" && echo "$2" > "$3/etc/codename"\n'
            'cat "$DEBOOTSTRAP_DIR/scripts/$2" > "$3/script"'
        )
        imported = {}

        class Engine:
            class api:  # noqa: N801 - the SDK's name
                @staticmethod
                def import_image_from_stream(stream, repository, tag):
                    imported[f"{repository}:{tag}"] = stream.read()

        (tmp_path / "files" / "scripts").mkdir(parents=True)
        for release in ("bookworm", "sid"):
            (tmp_path / "files" / "scripts" / release).write_text(f"{release}'s script")
        monkeypatch.setattr(docker_image, "_DEBOOTSTRAP", tmp_path / "files")
        for release, script in (("bookworm", "bookworm's script"), ("forky", "sid's script")):
            made = docker_image._base(Engine(), release, lambda _: None)
            assert made == f"rumpus/debian:{release}"
            with tarfile.open(fileobj=io.BytesIO(imported[made])) as tar:
                assert tar.extractfile("./etc/codename").read().decode() == f"{release}\n"
                assert tar.extractfile("./script").read().decode() == script


def test_lock_is_free_again_after_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(ZeroDivisionError), docker_image._only_builder(lambda _: None):
        raise ZeroDivisionError
    (lock,) = tmp_path.iterdir()
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_over(pid):
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_an_interrupted_command_ends_with_its_children(eventually):
    pids = []

    def interrupt(line):
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched(["sh", "-c", "sleep 60 & echo $!; wait"], interrupt, "it failed")

    eventually(lambda: is_over(pids[0]), within=10)


KILLED = """
from rumpus.harness.docker.watched_command import watched
watched(["sh", "-c", "sleep 60 & echo $!; wait"], lambda line: print(line, flush=True), "")
"""


def test_a_command_ends_with_its_children_when_its_caller_is_killed(eventually):
    words = [sys.executable, "-c", KILLED]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as caller:
        started = int(caller.stdout.readline())
        assert not is_over(started)
        caller.kill()
    eventually(lambda: is_over(started), within=10)
