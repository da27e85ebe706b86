import pytest

from tests.distribution import unit

SERVERS = {"servers of their own", "shared servers"}


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("tests/recipes/lock/test_contest_lock.py::test_any[docker-fair]", "shared servers"),
        (
            "tests/recipes/lock/test_contest_lock.py::test_any[sim-fair]",
            "tests/recipes/lock/test_contest_lock.py",
        ),
        ("tests/nemesis/test_real_servers.py::test_any", "shared servers"),
        ("tests/conformance/test_real.py::test_any[7]", "servers of their own"),
        ("tests/recount/test_recount.py::test_any[sim-lock]", "tests/recount/test_recount.py"),
        ("tests/recount/test_recount.py::test_any[docker-lock]", "servers of their own"),
        (
            "tests/harness/generators/test_seed.py::test_any",
            "tests/harness/generators/test_seed.py",
        ),
    ],
)
def test_files_are_units_and_servers_are_two(nodeid, expected):
    assert unit(nodeid) == expected


def test_whatever_needs_docker_is_in_a_unit_of_servers(request):
    on_docker = [item.nodeid for item in request.session.items if item.get_closest_marker("docker")]
    assert {unit(nodeid) for nodeid in on_docker} <= SERVERS
