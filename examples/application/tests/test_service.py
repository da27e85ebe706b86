"""The service in its own threads, on ZooKeeper servers that the tests control."""

import time

import pytest
from reports.service import ReportService


@pytest.fixture
def written():
    return []


@pytest.fixture
def services(zookeeper, written):
    started = [ReportService(zookeeper.hosts, name, written.append) for name in "abc"]
    for service in started:
        service.start()
    yield started
    for service in started:
        service.stop()


def eventually(condition, within=20.0):
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.02)
    return found


def elected(services):
    leaders = [service for service in services if service.leads]
    return leaders[0] if len(leaders) == 1 else None


def test_one_service_writes_and_the_others_wait(services, written):
    leader = eventually(lambda: elected(services))
    eventually(lambda: len(written) > 5)
    assert set(written) == {leader.name}


def test_another_service_takes_over_when_the_session_expires(zookeeper, services, written):
    first = eventually(lambda: elected(services))
    zookeeper.expire(first.client)
    second = eventually(lambda: (now := elected(services)) is not first and now)
    eventually(lambda: second.name in written)
    assert not first.leads


def test_reports_go_on_when_the_leading_server_is_killed(zookeeper, services, written):
    eventually(lambda: elected(services))
    zookeeper.kill(zookeeper.leader)
    zookeeper.await_leader()
    before = len(written)
    eventually(lambda: len(written) > before + 5)
    assert eventually(lambda: elected(services))
