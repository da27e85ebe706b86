import json

import pytest

from rumpus.harness.docker.image import image_tag
from rumpus.harness.zookeeper_versions import DEBIAN_RELEASES


def test_an_unknown_version_is_refused_with_those_that_there_are(rumpus):
    answer = rumpus("image", "--version", "3.7")
    assert answer.code == 2
    assert "3.4.13, 3.8.0, 3.9.3, 3.9.6" in answer.err


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("words", [(), ("--version", "3.9")])
def test_without_an_engine_there_are_no_images(rumpus, words):
    answer = rumpus("image", *words)
    assert answer.code == 4
    assert "no Docker engine answers" in answer.err


@pytest.mark.docker
def test_it_lists_every_version_and_whether_its_image_is_here(rumpus):
    answer = rumpus("image")
    assert answer.code == 0
    for line, (version, release) in zip(
        answer.out.splitlines(), DEBIAN_RELEASES.items(), strict=True
    ):
        assert line.startswith(f"{version:<7} Debian {release}")
        assert image_tag(version=version) in line
    images = json.loads(rumpus("image", "--json").out)["images"]
    (usual,) = (each for each in images if each["default"])
    assert (usual["version"], usual["here"]) == ("3.8.0", True)


@pytest.mark.docker
def test_it_prints_the_name_of_an_image_that_is_here_and_nothing_else(rumpus):
    answer = rumpus("image", "--version", "3.8")
    assert (answer.code, answer.out) == (0, f"{image_tag()}\n")
