from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import NO_AUTH


def test_a_write_that_one_follower_skips(ensemble, faulty):
    world = ensemble("skipped-writes")
    clients = {node: world.session(node) for node in ("n1", "n2", "n3")}
    clients["n1"].call(op.create("/k"))
    for number in range(1, 51):
        reply = clients["n2"].call(op.set_data("/k", b"%d" % number))
        assert reply.error == 0
        assert reply.value.version == number
    for node, client in clients.items():
        client.call(op.sync("/k"))
        data, stat = client.call(op.get_data("/k")).value
        skipped = faulty and node == "n1"
        assert (data, stat.version) == ((b"49", 49) if skipped else (b"50", 50))
    clients["n2"].call(op.set_data("/k", b"next"))
    clients["n1"].call(op.sync("/k"))
    assert clients["n1"].call(op.get_data("/k")).value[0] == b"next"


def test_a_skipped_write_is_acknowledged_by_the_follower_too(ensemble, faulty):
    client = ensemble("skipped-writes").session("n1")
    client.call(op.create("/k"))
    replies = [client.call(op.set_data("/k", b"%d" % number)) for number in range(50)]
    assert not any(reply.error for reply in replies)
    assert client.call(op.get_data("/k")).value[0] == (b"48" if faulty else b"49")


def test_a_multi_is_seen_without_its_last_operation(ensemble, faulty):
    world = ensemble("multi-in-two-steps")
    writer, reader = world.session("n2"), world.session("n1")
    writer.call(op.create("/a"))
    writer.call(op.create("/b"))
    reader.call(op.sync("/"))
    writer.send(op.multi([op.set_data("/a", b"new"), op.set_data("/b", b"new")]))
    seen = set()
    for _ in range(30):
        pair = reader.call(op.multi_read([op.get_data("/a"), op.get_data("/b")])).value
        seen.add((pair[0].value[0], pair[1].value[0]))
        world.run_for(2)
    whole = {(b"", b""), (b"new", b"new")}
    assert seen == (whole | {(b"new", b"")} if faulty else whole)


def test_the_last_operation_comes_before_the_next_transaction(ensemble):
    world = ensemble("multi-in-two-steps")
    writer, reader = world.session("n2"), world.session("n1")
    writer.call(op.create("/a"))
    writer.send(op.multi([op.set_data("/", b""), op.set_data("/a", b"multi")]))
    writer.send(op.set_data("/a", b"last"))
    world.run_for(100)
    data, stat = reader.call(op.get_data("/a")).value
    assert (data, stat.version) == (b"last", 2)


def test_a_request_is_performed_twice(ensemble, faulty):
    client = ensemble("repeated-requests").session("n1")
    told = [client.call(op.create("/n-", flags=op.SEQUENTIAL)).value for _ in range(100)]
    client.call(op.sync("/"))
    there = client.call(op.get_children("/")).value
    assert len(set(told)) == 100
    assert len(there) - 1 == (102 if faulty else 100)


def test_a_read_is_answered_before_the_write_that_was_sent_earlier(ensemble, faulty):
    client = ensemble("overtaking-reads").session("n1")
    client.call(op.create("/k", b"old"))
    if faulty:  # the answers change places as well
        write, read = op.set_data("/k", b"new"), op.get_data("/k")
        client.send(write, xid=12)
        client.send(read, xid=13)
        client._pending.reverse()
        assert client.receive().value[0] == b"old"
        assert client.receive().error == 0
    else:
        client.send(op.set_data("/k", b"new"))
        client.send(op.get_data("/k"))
        assert client.receive().error == 0
        assert client.receive().value[0] == b"new"


def test_a_list_that_stays_on_one_follower(ensemble, faulty):
    world = ensemble("old-acl-on-follower")
    clients = {node: world.session(node) for node in world.nodes}
    clients["n2"].call(op.create("/k"))
    secret = [op.Acl(op.ALL - op.READ, "world", "anyone")]
    assert clients["n2"].call(op.set_acl("/k", secret)).error == 0
    for node, client in clients.items():
        client.call(op.sync("/k"))
        readable = faulty and node == "n1"
        assert client.call(op.get_data("/k")).error == (0 if readable else NO_AUTH)
        assert client.call(op.get_acl("/k")).value[1].aversion == (0 if readable else 1)
