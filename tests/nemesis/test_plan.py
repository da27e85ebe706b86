import json
import os
import re
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nemesis.client_partition import CUTS
from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.plan import (
    VERSION,
    FaultPlan,
    decode_plan,
    dump_plan,
    encode_plan,
    load_plan,
    validate,
)
from rumpus.nemesis.registry import FAULTS
from rumpus.nemesis.targets import CLIENT_ROLES, SERVER_ROLES, SHAPES, Targets

SIZE = {"nodes": 5, "clients": 5}

server_targets = st.one_of(
    st.sampled_from(SERVER_ROLES).map(lambda role: Targets(role=role)),
    st.lists(st.sampled_from(["n1", "n2", 3, 4, "n5"]), min_size=1, unique=True).map(
        lambda names: Targets(names=tuple(names))
    ),
)
client_targets = st.one_of(
    st.sampled_from(CLIENT_ROLES).map(lambda role: Targets(role=role)),
    st.lists(st.sampled_from([0, 1, "c2", "c3"]), min_size=1, unique=True).map(
        lambda names: Targets(names=tuple(names))
    ),
)
partition_targets = st.one_of(
    st.sampled_from(SHAPES).map(lambda shape: Targets(shape=shape)),
    st.just(Targets(names=("n1", 2))),
    st.just(Targets(grudge={"n1": ("n2", "n5"), "n3": ("n4",)})),
)


@st.composite
def plans(draw):
    """Entries one after the other, so that they cannot conflict."""
    entries = []
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(list(FAULTS)))
        targets = draw(
            st.just(Targets())
            if kind == "reseed"
            else partition_targets
            if kind == "partition"
            else client_targets
            if kind.startswith("client-")
            else server_targets
        )
        options = {}
        if kind == "client-partition":
            options = {
                "how": draw(st.sampled_from([None, *CUTS])),
                "nodes": draw(st.sampled_from([None, ["n1"], ["n2", "n3"]])),
            }
        entries.append(
            Entry(
                id=number + 1,
                at=10 * number + draw(st.floats(0, 4)),
                kind=kind,
                targets=targets,
                duration=draw(st.floats(0.1, 5)),
                options=options,
            )
        )
    return FaultPlan(
        version=VERSION,
        entries=tuple(draw(st.permutations(entries))),
        seed=draw(st.none() | st.integers(0, 2**63)),
        notes=tuple(draw(st.lists(st.text(), max_size=2))),
    )


@given(plans())
def test_a_plan_survives_json(plan):
    validate(plan, **SIZE)
    assert decode_plan(encode_plan(plan), **SIZE) == plan


def test_a_plan_survives_a_file(tmp_path):
    path = tmp_path / "plan.json"
    plan = FaultPlan(version=VERSION, entries=(entry(),), seed=7, notes=("as it came",))
    dump_plan(plan, path)
    assert load_plan(path, **SIZE) == plan
    assert json.loads(path.read_text())["version"] == VERSION


def test_a_plan_written_by_hand_needs_no_ids_and_no_options():
    document = {
        "version": 1,
        "entries": [
            {"at": 5, "kind": "kill", "targets": {"role": "leader"}, "duration": 4},
            {"at": 15, "kind": "client-partition", "targets": {"names": [3]}, "duration": 4},
        ],
    }
    plan = decode_plan(json.dumps(document).encode(), **SIZE)
    assert [e.id for e in plan.entries] == [1, 2]
    assert [e.options for e in plan.entries] == [{}, {}]
    assert plan.entries[1].targets.clients() == [3]
    assert plan.kinds == ("kill", "client-partition")


def entry(number=1, at=1.0, kind="kill", duration=2.0, options=None, **targets):
    return Entry(
        id=number,
        at=at,
        kind=kind,
        targets=Targets(**(targets or {"role": "leader"})),
        duration=duration,
        options=options or {},
    )


def document(**change):
    raw = {"at": 1, "kind": "kill", "targets": {"role": "leader"}, "duration": 2, **change}
    raw = {key: value for key, value in raw.items() if value is not ...}
    return {"version": 1, "entries": [raw]}


MALFORMED = [
    ("{", "not a JSON document"),
    (b"\xff", "not a JSON document"),
    ([], 'a plan is an object with "version" and "entries"'),
    ({}, 'field "version" is missing; this program reads version 1'),
    ({"version": 2}, 'field "version" is 2; this program reads version 1'),
    ({"version": 1, "entry": []}, "unknown field `entry`; the fields are version, entries"),
    ({"version": 1, "entries": 5}, 'field "entries": Expected `array`'),
    ({"version": 1, "entries": [5]}, "entry 1: Expected `object`"),
    ({"version": 1, "entries": [{"id": 9}]}, "entry 9: Object missing required field `at`"),
    (document(at="soon"), 'entry 1: field "at": Expected `float`'),
    (document(at=-1), 'entry 1: field "at" is -1; it is not from 0 to 10,000,000 seconds'),
    (document(at=60), 'field "at" is 60, after the load has ended; it must be below'),
    (document(duration=0), 'entry 1: field "duration" is 0; it must be more than 0'),
    (document(duration=...), "missing required field `duration`; the fields are id, at"),
    (document(kind="kil"), 'entry 1: field "kind" is "kil"; did you mean kill?'),
    (document(target=1), "entry 1: Object contains unknown field `target`; the fields are id"),
    (document(targets={}), 'field "targets" has nothing; for kill it must have exactly one of'),
    (
        document(targets={"role": "leader", "names": ["n1"]}),
        'field "targets" has names and role; for kill it must have exactly one of names, role',
    ),
    (
        document(targets={"roll": "leader"}),
        'entry 1: field "targets": Object contains unknown field `roll`; the fields are names',
    ),
    (document(targets={"shape": "bridge"}), "for kill it must have exactly one of names, role"),
    (document(targets={"role": "holder"}), 'field "targets.role" is "holder"; allowed are one'),
    (document(targets={"names": []}), 'field "targets.names" is empty'),
    (document(targets={"names": ["n9"]}), '"n9"; allowed are n1, n2, n3, n4, n5'),
    (document(targets={"names": [6]}), '"n6"; allowed are n1'),
    (document(targets={"names": ["c1"]}), '"c1"; allowed are n1'),
    (document(targets={"names": [1, "n1"]}), 'field "targets.names" names one twice'),
    (document(options={"how": "reset"}), 'field "options" must be empty for kill'),
    (document(kind="client-kill"), 'field "targets.role" is "leader"; allowed are one, holder'),
    (document(kind="client-kill", targets={"names": [5]}), '"c5"; allowed are c0, c1'),
    (document(kind="client-kill", targets={"names": ["n1"]}), '"n1"; allowed are c0'),
    (document(kind="partition"), "for partition it must have exactly one of names, shape, grudge"),
    (
        document(kind="partition", targets={"shape": "star"}),
        'field "targets.shape" is "star"; allowed are isolate-leader',
    ),
    (
        document(kind="partition", targets={"names": [1, 2, 3, 4, 5]}),
        "has every server; none is left to cut from",
    ),
    (document(kind="partition", targets={"grudge": {"n7": ["n1"]}}), '"n7"; allowed are n1'),
    (document(kind="partition", targets={"grudge": {"n1": ["n1"]}}), '"n1"; allowed are n2'),
    (
        document(kind="client-partition", targets={"role": "all"}, options={"how": "melt"}),
        'field "options.how" is "melt"; allowed are black-hole, reset',
    ),
    (
        document(kind="client-partition", targets={"role": "all"}, options={"nodes": ["n8"]}),
        'field "options.nodes" is "n8"; allowed are n1',
    ),
    (
        document(kind="client-partition", targets={"role": "all"}, options={"hwo": "reset"}),
        'field "options" has hwo; client-partition takes only nodes, how',
    ),
]


@pytest.mark.parametrize(("raw", "message"), MALFORMED)
def test_an_error_names_the_file_the_entry_the_field_and_what_is_allowed(raw, message, tmp_path):
    path = tmp_path / "my-plan.json"
    path.write_bytes(
        raw
        if isinstance(raw, bytes)
        else (raw if isinstance(raw, str) else json.dumps(raw)).encode()
    )
    with pytest.raises(PlanError) as caught:
        load_plan(path, **SIZE, time_limit=60)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_a_plan_error(tmp_path):
    with pytest.raises(PlanError, match=r"nowhere\.json: the fault plan cannot be read: No such"):
        load_plan(tmp_path / "nowhere.json", **SIZE)


def test_what_is_no_file_or_has_no_end_is_a_plan_error_at_once(tmp_path):
    pipe, endless, sparse = (tmp_path / f"{name}.json" for name in ("pipe", "endless", "sparse"))
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    for path, why in [
        (pipe, "it is a pipe or a device; name a file"),
        (endless, "it is a pipe or a device; name a file"),
        (tmp_path, "it is a directory; name a file"),
        (sparse, "it has 1,099,511,627,776 bytes, and such a file has at most 67,108,864"),
    ]:
        with pytest.raises(PlanError, match=re.escape(f"{path}: not a fault plan: {why}")):
            load_plan(path, **SIZE)


@pytest.mark.parametrize(
    ("nodes", "what", "message"),
    [
        (1, {"kind": "partition", "shape": "isolate-leader"}, "use at least 2 nodes"),
        (3, {"kind": "partition", "shape": "majorities-ring"}, "needs at least 4 servers, not 3"),
        (2, {"kind": "partition", "shape": "bridge"}, "needs at least 3 servers, not 2"),
        (2, {"role": "minority"}, "of 2 servers none can be lost"),
        (1, {"role": "followers"}, "a single server has none"),
    ],
)
def test_what_the_ensemble_is_too_small_for_is_refused(nodes, what, message):
    plan = FaultPlan(version=VERSION, entries=(entry(**what),))
    with pytest.raises(PlanError, match=message):
        validate(plan, nodes=nodes, clients=5)


def test_ids_are_given_once():
    plan = FaultPlan(version=VERSION, entries=(entry(3), entry(3, at=10.0)))
    with pytest.raises(PlanError, match='entry 3: field "id" is used by an earlier entry'):
        validate(plan, **SIZE)


LOST = {"how": "lost-reply"}
PAIRS = [
    # (first, second, what the error says; None if they go together)
    ({}, {"at": 2.0}, "both act on server processes with the same targets"),
    ({}, {"at": 3.0}, None),
    ({}, {"at": 2.0, "role": "one"}, None),
    ({}, {"at": 2.0, "kind": "pause"}, "server processes with the same targets"),
    ({}, {"at": 2.0, "kind": "client-kill", "role": "one"}, None),
    ({}, {"at": 2.0, "kind": "partition", "shape": "bridge"}, None),
    (
        {},
        {"at": 2.0, "names": ("n1",)},
        "a target that entry 2 names",
    ),
    ({"names": ("n1",)}, {"at": 2.0}, None),
    ({"names": ("n1",)}, {"at": 2.0, "names": ("n2",)}, None),
    ({"names": ("n1", "n2")}, {"at": 2.0, "names": (2, 3)}, "server processes of the same targets"),
    (
        {"kind": "partition", "shape": "bridge"},
        {"at": 1.5, "kind": "partition", "names": ("n1",)},
        "only one partition at a time",
    ),
    (
        {"kind": "client-pause", "role": "holder"},
        {"at": 2.0, "kind": "client-kill", "role": "holder"},
        "both act on client processes with the same targets",
    ),
    (
        {"kind": "client-pause", "role": "holder"},
        {"at": 2.0, "kind": "client-partition", "role": "holder"},
        None,
    ),
    (
        {"kind": "client-partition", "role": "all", "options": LOST},
        {"at": 2.0, "kind": "client-partition", "role": "holder"},
        None,
    ),
    (
        {"kind": "client-partition", "role": "all", "options": LOST},
        {"at": 2.0, "kind": "client-partition", "role": "all", "options": LOST},
        "both act on the clients' links with the same targets",
    ),
    (
        {"kind": "client-partition", "names": ("c1",)},
        {"at": 2.0, "kind": "client-partition", "names": (1, 2), "options": LOST},
        "the clients' links of the same targets",
    ),
]


@pytest.mark.parametrize(("first", "second", "message"), PAIRS)
def test_entries_that_get_in_each_others_way_are_refused(first, second, message):
    entries = (entry(1, **first), entry(2, **second))
    for order in permutations(entries):
        plan = FaultPlan(version=VERSION, entries=order)
        if message is None:
            validate(plan, **SIZE)
        else:
            with pytest.raises(PlanError, match="entries 1 and 2 conflict: ") as caught:
                validate(plan, **SIZE, source="mine")
            assert message in str(caught.value)
            assert "move one of them" in str(caught.value)
