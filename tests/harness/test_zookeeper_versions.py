import re

import pytest

from rumpus.harness.zookeeper_versions import (
    DEBIAN_RELEASES,
    USUAL_VERSION,
    UnknownVersion,
    find_version,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [("3.4", "3.4.13"), ("3.8.0", "3.8.0"), ("3.9", "3.9.6"), ("3.9.3", "3.9.3"), ("3", "3.9.6")],
)
def test_the_first_numbers_mean_the_newest_that_fits(text, version):
    assert find_version(text) == version


@pytest.mark.parametrize("text", ["3.9.4", "3.90", "3.", "", "v3.9", "3.4.1", "3.9.6-2"])
def test_an_unknown_version_is_refused_with_those_that_there_are(text):
    known = re.escape(", ".join(DEBIAN_RELEASES))
    with pytest.raises(UnknownVersion, match=f"no ZooKeeper '{re.escape(text)}'.*{known}"):
        find_version(text)


def test_the_usual_version_is_one_of_them():
    assert USUAL_VERSION in DEBIAN_RELEASES
