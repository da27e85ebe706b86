import json
import types

import msgspec
import pytest

import rumpus
from rumpus.campaigns.replaying import as_test, judge_replay, replay_task
from rumpus.campaigns.tasks import attempt
from rumpus.campaigns.trial_task import perform
from tests.rumpus.campaigns.conftest import DEADLOCK


@pytest.fixture(scope="module")
def outcome():
    return perform(rumpus.campaigns.case.decode_case(DEADLOCK.encode(), "it").task())


def test_a_failure_is_reproduced(deadlock, outcome):
    told = judge_replay("it", msgspec.structs.replace(deadlock, digest=outcome.digest), outcome)
    assert (told.reproduced, told.same, told.verdict) == (True, True, "reproduced")
    assert "deadlock of acquire" in told.anomaly
    assert told.story
    with pytest.raises(rumpus.TrialFailed, match="reproduced: deadlock of acquire after pause"):
        told.assert_not_reproduced()


def test_the_story_names_the_node_that_all_wait_for(deadlock, outcome):
    lines = [
        line.split(maxsplit=2)[2] for line in outcome.find(deadlock.expects, promised=True).story
    ]
    made = next(n for n, line in enumerate(lines) if "creates ephemeral node" in line)
    client, _, _, _, node, *_ = lines[made].replace(",", "").split()
    assert any(line.startswith(f"{client} calls acquire") for line in lines[:made])
    assert any(line.startswith("fault: pause n") for line in lines)
    assert f"{client} acquire: fail (timed out)" in lines[made:]
    assert not any(f"deletes {node}" in line or f"{node} is deleted" in line for line in lines)


def test_another_run_with_the_same_anomaly_reproduces_it_too(deadlock, outcome):
    told = judge_replay("it", msgspec.structs.replace(deadlock, digest="other"), outcome)
    assert (told.reproduced, told.same) == (True, False)


def test_another_anomaly_is_no_reproduction(deadlock, outcome):
    other = msgspec.structs.replace(
        deadlock, expects=msgspec.structs.replace(deadlock.expects, kind="split-brain")
    )
    told = judge_replay("it", other, outcome)
    assert told.reproduced is False
    assert told.verdict.startswith("another anomaly: ")
    with pytest.raises(rumpus.TrialFailed):
        told.assert_not_reproduced()


def test_a_hazard_is_no_reproduction_of_a_broken_promise(deadlock, outcome):
    hazard = msgspec.structs.replace(outcome.seen[0], promised=False)
    seen = msgspec.structs.replace(outcome, seen=(hazard,))
    other = msgspec.structs.replace(deadlock, expects=hazard.fingerprint)
    assert judge_replay("it", other, seen).reproduced is False
    other = msgspec.structs.replace(other, promised=False)
    assert judge_replay("it", other, seen).reproduced is True


def test_a_run_that_cannot_be_judged_is_unknown(deadlock, outcome):
    nothing = msgspec.structs.replace(outcome, outcome="unknown", seen=(), reasons=("why",))
    told = judge_replay("it", deadlock, nothing)
    assert (told.reproduced, list(told.reasons)) == ("unknown", ["why"])
    with pytest.raises(rumpus.TrialFailed, match="unknown"):
        told.assert_not_reproduced()


def test_a_sound_recipe_does_not_fail_in_the_same_way():
    document = json.loads(DEADLOCK)
    document["settings"]["recipe"] = "fair"
    told = rumpus.replay(document)
    assert (told.reproduced, told.anomaly, told.verdict) == (False, None, "not reproduced")
    told.assert_not_reproduced()


def test_on_real_servers_the_system_preempts(deadlock):
    assert replay_task(deadlock).settings.preemption == "blocking"
    real = replay_task(deadlock, ensemble="docker").settings
    assert (real.ensemble, real.preemption) == ("docker", "auto")


def test_an_error_is_no_reproduction(deadlock):
    wrong = msgspec.structs.replace(deadlock, settings={"workload": "lock", "recipe": "none"})
    told = attempt(wrong.task())
    assert (told.outcome, told.exit_code) == (None, 2)
    assert "unknown recipe 'none'" in told.error
    with pytest.raises(rumpus.UsageError, match="unknown recipe 'none'"):
        rumpus.replay(wrong)
    with pytest.raises(rumpus.UsageError, match="nodes"):
        rumpus.replay(DEADLOCK, nodes="three")


def test_a_test_module_fails_with_the_same_words_each_time(deadlock, outcome):
    text = as_test({"lock-bare": deadlock})
    assert len(text.splitlines()) <= 60
    module = {}
    exec(compile(text, "test_it.py", "exec"), module)
    words = set()
    for _ in range(2):
        with pytest.raises(rumpus.TrialFailed) as caught:
            module["test_lock_bare"]()
        words.add(str(caught.value))
    assert len(words) == 1
    assert str(judge_replay("it", deadlock, outcome)) in words


def test_a_test_module_of_several_cases_has_a_test_of_each(deadlock):
    other = msgspec.structs.replace(deadlock, seed=1)
    module = {}
    exec(compile(as_test({"a/b": deadlock, "a-b": other}), "test_it.py", "exec"), module)
    replayed = []
    module["rumpus"] = types.SimpleNamespace(replay=lambda text: replayed.append(text) or it)
    it = types.SimpleNamespace(assert_not_reproduced=lambda: None)
    module["test_a_b"]()
    module["test_a_b_2"]()
    seeds = [rumpus.campaigns.case.decode_case(text.encode(), "x").seed for text in replayed]
    assert seeds == [deadlock.seed, 1]


@pytest.mark.parametrize("text", ['"""', "\\n", "'", "é\n"])
def test_a_test_module_can_have_any_story(deadlock, text):
    told = msgspec.structs.replace(deadlock, story=(text,))
    module = {}
    exec(compile(as_test({"x": told}), "test_it.py", "exec"), module)
    assert rumpus.campaigns.case.decode_case(module["CASE"].encode(), "x") == told
