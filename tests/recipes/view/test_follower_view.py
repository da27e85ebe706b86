import pytest

from rumpus.recipes.view.catalogue import VIEWS
from rumpus.recipes.view.follower_view import ChildrenView, DataView

DATA = ["data", "kazoo-data-watch"]
CHILDREN = ["children", "kazoo-children-watch"]


@pytest.fixture
def folder(crowd, path):
    crowd.bystander.ensure_path(path)
    return path


def shows(view, data):
    return lambda: view.value is not None and view.value.data == data


@pytest.mark.parametrize("name", DATA)
def test_a_data_view_follows_a_node_that_comes_and_goes(crowd, folder, name, eventually):
    view = VIEWS[name].recipe(crowd[0], f"{folder}/node")
    view.open()
    crowd.bystander.create(f"{folder}/node", b"one")
    eventually(shows(view, b"one"))
    stat = crowd.bystander.set(f"{folder}/node", b"two")
    eventually(shows(view, b"two"))
    assert view.value.zxid == stat.mzxid
    crowd.bystander.delete(f"{folder}/node")
    eventually(lambda: view.value is None)
    crowd.bystander.create(f"{folder}/node", b"three")
    eventually(shows(view, b"three"))
    view.close()


@pytest.mark.parametrize("name", CHILDREN)
def test_a_children_view_follows_a_folder(crowd, folder, name, eventually):
    view = VIEWS[name].recipe(crowd[0], folder)
    view.open()
    for child in ("a", "b"):
        crowd.bystander.create(f"{folder}/{child}")
    eventually(lambda: view.value and view.value.names == {"a", "b"})
    crowd.bystander.delete(f"{folder}/a")
    eventually(lambda: view.value.names == {"b"})
    view.close()


def test_a_children_view_waits_for_a_folder_that_is_not_there_yet(crowd, path, eventually):
    view = ChildrenView(crowd[0], path)
    view.open()
    crowd.bystander.ensure_path(f"{path}/a")
    eventually(lambda: view.value and view.value.names == {"a"})
    crowd.bystander.delete(path, recursive=True)
    eventually(lambda: view.value is None)
    view.close()


@pytest.mark.parametrize("how", ["reconnect", "expire"])
def test_what_changed_while_it_was_away_is_seen(crowd, folder, how, eventually):
    data, children = DataView(crowd[0], f"{folder}/node"), ChildrenView(crowd[0], folder)
    crowd.bystander.create(f"{folder}/node", b"one")
    data.open()
    children.open()
    eventually(lambda: shows(data, b"one")() and children.value)
    if how == "expire":
        crowd.end_session(0)
    else:
        crowd.links.cut(0, "reset")
    eventually(lambda: not data.connected)
    crowd.bystander.set(f"{folder}/node", b"two")
    crowd.bystander.create(f"{folder}/other")
    assert data.value.data == b"one"
    crowd.links.heal(0)
    eventually(lambda: shows(data, b"two")() and len(children.value.names) == 2)
    crowd.bystander.set(f"{folder}/node", b"three")
    eventually(shows(data, b"three"))
    data.close()
    children.close()


def test_waiting_for_a_view_to_fulfil_something(crowd, folder):
    view = ChildrenView(crowd[0], folder)
    assert not view.wait_until(lambda value: value is not None, timeout=0.05)
    view.open()
    assert view.wait_until(lambda value: value is not None and not value.names, timeout=20)
    view.close()
