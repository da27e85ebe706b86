from rumpus.simulation.zookeeper.serving.short_answers import SHORT, has_short_answer
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.znode import Znode
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import write_string
from rumpus.simulation.zookeeper.wire.permissions import OPEN


def short(kind, path, tree, *, behind=b"\0"):
    return has_short_answer(kind, write_string(path) + behind, tree)


def test_a_read_is_short_if_what_it_reads_is():
    tree = DataTree()
    for path, size in (("/little", SHORT), ("/much", SHORT + 1)):
        tree.nodes[path] = Znode(bytes(size), OPEN)
    few, many, wordy = (Znode(b"", OPEN) for _ in range(3))
    few.add_child("a")
    for number in range(SHORT):
        many.add_child(str(number))
    wordy.add_child("x" * (SHORT + 1))
    tree.nodes.update({"/few": few, "/many": many, "/wordy": wordy})
    for path, expected in (("/little", True), ("/much", False), ("/nothing", True)):
        assert short(opcodes.GET_DATA, path, tree) is expected
    for kind in (opcodes.GET_CHILDREN, opcodes.GET_CHILDREN2):
        for path, expected in (("/few", True), ("/many", False), ("/wordy", False)):
            assert short(kind, path, tree) is expected
    assert has_short_answer(opcodes.GET_DATA, b"\0", tree)  # an error


def test_other_requests_are_short_as_they_are_themselves():
    tree = DataTree()
    assert short(opcodes.CREATE, "/a", tree)
    assert not short(opcodes.CREATE, "/" + "a" * SHORT, tree)
    assert has_short_answer(opcodes.PING, b"", tree)
    for kind in (
        opcodes.MULTI_READ,
        opcodes.SET_WATCHES,
        opcodes.WHO_AM_I,
        opcodes.GET_ACL,
        opcodes.GET_EPHEMERALS,
        opcodes.RECONFIG,
    ):
        assert not short(kind, "/a", tree)
