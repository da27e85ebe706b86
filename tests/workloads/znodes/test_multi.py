"""Transactions of several znodes: the judge on written histories."""

from rumpus.checker.timeline.timeline import Timeline
from rumpus.recipes.znodes.multi_write import NAMES, MultiWrite
from rumpus.workloads.znodes.multi import MULTI
from tests.rumpus.lone_histories import Story


def told(value, version):
    return {"values": dict.fromkeys(NAMES, value), "version": version}


def kinds(story):
    evidence = Timeline(history=story.history(), promises=MultiWrite.promises)
    return [each.kind for each in MULTI.judge(evidence).anomalies]


def written_if(version, answer):
    story = Story(2).did(0, "write", {"value": "v0"}, {"version": 1})
    story.did(1, "read", None, told("v0", 1))
    story.call(1, "write_if", {"value": "v1", "version": version})
    return story.answer(1, "write_if", answer)


def test_a_conditional_write_is_carried_out_at_its_version_only():
    assert kinds(written_if(1, {"version": 2})) == []
    assert kinds(written_if(0, {"version": 2})) == ["not-linearizable"]


def test_a_conditional_write_is_not_refused_at_its_version():
    def refused(version):
        story = Story(2).did(0, "write", {"value": "v0"}, {"version": 1})
        asked = {"value": "v1", "version": version}
        story.call(1, "write_if", asked)
        return story.add(99, 1, "fail", "write_if", asked)

    assert kinds(refused(0)) == []
    assert kinds(refused(1)) == ["not-linearizable"]


def test_a_refused_write_leaves_nothing():
    def read(value, version):
        story = Story(2).did(0, "write", {"value": "v0"}, {"version": 1})
        asked = {"value": "v1", "version": 0}
        story.call(1, "write_if", asked).add(98, 1, "fail", "write_if", asked)
        story.add(99, 0, "invoke", "read").add(100, 0, "ok", "read", told(value, version))
        return story

    assert kinds(read("v0", 1)) == []
    assert kinds(read("v1", 2)) == ["not-linearizable"]
