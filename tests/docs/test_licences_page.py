"""The licences of all that is installed, and the bill of materials of what users get."""

import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest

from docs.generators.bill_of_materials import bill_of_materials
from docs.generators.licences_page import PAGE
from docs.generators.locked_packages import LOCKS, licence, locked

CELLS = re.compile(r"^\| ([a-z0-9-]+) \|([^|]+)\|(.*)$", re.MULTILINE)
ROWS = {name: (said.strip(), rest) for name, said, rest in CELLS.findall(PAGE.read_text())}
del ROWS["package"]


def installed(name):
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_its_row(lock):
    assert {each.name for each in locked(lock)} <= ROWS.keys()


def test_the_page_names_nothing_else():
    assert ROWS.keys() == {each.name for lock in LOCKS for each in locked(lock)}


def test_licences_are_what_the_installed_packages_say():
    checked = [name for name in ROWS if installed(name)]
    assert len(checked) > 60
    assert [name for name in checked if ROWS[name][0] != licence(name)] == []


def test_the_bill_has_what_users_install_and_nothing_of_developers():
    bill = bill_of_materials("1.2.3")
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    assert scopes["kazoo"] == scopes["numpy"] == "required"
    assert scopes["markdown-it-py"] == "required"  # rich needs it
    assert scopes["cryptography"] == scopes["dask"] == "optional"
    assert not {"pytest", "sphinx", "twine", "uv"} & scopes.keys()
    of_users = {name for name, (_, rest) in ROWS.items() if rest.strip()}
    assert scopes.keys() == {name for name in of_users if installed(name)}


def test_every_component_has_a_version_a_licence_and_hashes_and_the_graph_is_closed():
    bill = bill_of_materials("1.2.3")
    versions = {each.name: each.version for each in locked(LOCKS[0])}
    for each in bill["components"]:
        assert each["version"] == versions[each["name"]]
        assert each["licenses"][0]
        assert each["externalReferences"][0]["hashes"]
    refs = [each["ref"] for each in bill["dependencies"]]
    known = {bill["metadata"]["component"]["bom-ref"]}
    known |= {each["bom-ref"] for each in bill["components"]}
    assert len(refs) == len(known)
    assert set(refs) == known
    assert known >= {other for each in bill["dependencies"] for other in each["dependsOn"]}
    reached, waiting = set(), [refs[0]]
    graph = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    while waiting:
        if (ref := waiting.pop()) not in reached:
            reached.add(ref)
            waiting += graph[ref]
    required = {each["bom-ref"] for each in bill["components"] if each["scope"] == "required"}
    assert required == reached - {refs[0]}


def test_the_same_distribution_has_the_same_bill():
    assert bill_of_materials("1.2.3") == bill_of_materials("1.2.3")
    assert bill_of_materials("1.2.3")["serialNumber"] != bill_of_materials("1.2.4")["serialNumber"]
