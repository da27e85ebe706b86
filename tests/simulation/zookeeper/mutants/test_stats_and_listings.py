from rumpus.conformance import operations as op


def test_the_zxid_of_the_last_change_after_a_change_of_the_list(standalone, faulty):
    client = standalone("mzxid-of-acl").session()
    client.call(op.create("/k"))
    created = client.call(op.exists("/k")).value
    changed = client.call(op.set_acl("/k", op.OPEN)).value
    assert changed.czxid == created.czxid
    assert (changed.mzxid > created.mzxid) == faulty


def test_data_that_are_older_than_their_stat(standalone, faulty):
    client = standalone("former-data").session()
    client.call(op.create("/k", b"old"))
    client.call(op.set_data("/k", b"newer"))
    seen = [client.call(op.get_data("/k")).value for _ in range(100)]
    assert {stat.version for _, stat in seen} == {1}
    assert [data for data, _ in seen].count(b"old") == (2 if faulty else 0)


def test_a_list_of_children_without_the_newest(standalone, faulty):
    client = standalone("missing-child").session()
    client.call(op.create("/p"))
    for name in "abc":
        client.call(op.create(f"/p/{name}"))
    lists = [client.call(op.get_children("/p")).value for _ in range(50)]
    lists += [client.call(op.get_children2("/p")).value[0] for _ in range(50)]
    assert sum(sorted(names) == ["a", "b"] for names in lists) == (2 if faulty else 0)
    assert sum(sorted(names) == ["a", "b", "c"] for names in lists) == (98 if faulty else 100)


def test_the_number_of_all_descendants(standalone, faulty):
    client = standalone("shallow-count").session()
    for path in ("/p", "/p/c", "/p/c/d"):
        client.call(op.create(path))
    assert client.call(op.get_all_children_number("/p")).value == (1 if faulty else 2)


def test_the_count_of_a_quota(standalone, faulty):
    client = standalone("quota-without-deletions").session()
    client.call(op.create("/q"))
    client.call(op.create("/zookeeper/quota/q"))
    client.call(op.create("/zookeeper/quota/q/zookeeper_limits", b"count=9,bytes=-1"))
    client.call(op.create("/zookeeper/quota/q/zookeeper_stats", b"count=0,bytes=0"))
    client.call(op.create("/q/c", b"12345"))
    client.call(op.delete("/q/c"))
    counted = client.call(op.get_data("/zookeeper/quota/q/zookeeper_stats")).value[0]
    assert counted == (b"count=2,bytes=5" if faulty else b"count=1,bytes=0")
