import pytest

from rumpus.simulation.zookeeper.wire.paths import is_valid


@pytest.mark.parametrize(
    "path", ["/", "/a", "/a/b", "/...", "/.x", "/a..", "/a/.b", "/é", "/\uf900", "/a b", "/~"]
)
def test_valid(path):
    assert is_valid(path)


@pytest.mark.parametrize(
    "path",
    ["", "a", "a/b", "/a/", "//", "//a", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/./a"]
    + [f"/a{chr(code)}" for code in (0, 1, 0x1F, 0x7F, 0x9F, 0xE000, 0xF8FF, 0xFFF0, 0xFFFF)]
    + ["/\U0001f600", "/é/", "/é//a", "/é/.", "é", "/\ud800"],
)
def test_invalid(path):
    assert not is_valid(path)
