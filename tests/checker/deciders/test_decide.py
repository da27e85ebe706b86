"""The interface of all deciders, and objects that are decided one by one."""

import pytest

from rumpus.checker.deciders.decide import FIRST_SHARE_S, ModelEntry, decide, in_turns
from rumpus.checker.deciders.decision import Budget, Decision, Witness, accepted, undecided
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.deciders.wording import at

SECOND = 10**9


def table(*keys):
    return OperationTable.from_rows(
        {"f": "read", "call": place * SECOND, "result": place, "key": key}
        for place, key in enumerate(keys, start=3)
    )


def by_key(whole, decide_part):
    return in_turns(whole, lambda part, _: decide_part(part), Budget())


def test_an_operation_that_the_model_does_not_know_is_refused_by_name():
    entry = ModelEntry("log", "a log", {"append": ""}, (), lambda *_: accepted())
    with pytest.raises(WrongOperations, match="log knows no operation 'read'; it knows append"):
        decide(entry, table("a"))


def test_a_decision_says_which_model_and_how_many_operations():
    entry = ModelEntry("log", "a log", {"read": ""}, (), lambda *_: accepted())
    decision = decide(entry, table("a", "b"))
    assert (decision.valid, decision.model, decision.operations) == (True, "log", 2)


def test_keys_are_judged_in_the_order_in_which_they_occur():
    judged = []

    def note(part):
        judged.append((part.field("key")[0], part.result.tolist()))
        return accepted()

    assert by_key(table("b", "a", "b", "c"), note).valid is True
    assert judged == [("b", [3, 5]), ("a", [4]), ("c", [6])]


def test_a_witness_names_rows_and_times_of_the_whole():
    def second_of_b(part):
        if part.field("key")[0] == "a":
            return accepted()
        words = f"called at {at(part, int(part.call[1]))}"
        witness = Witness(operations=[1], description=words, prefix=[0, 1], stuck=1)
        return Decision(valid=False, witness=witness)

    witness = by_key(table("a", "b", "a", "b"), second_of_b).witness
    assert (witness.operations, witness.prefix, witness.stuck) == ([3], [1, 3], 3)
    assert witness.description == "key 'b': called at 3.000 s"


def test_what_stays_open_is_said_key_by_key_unless_one_is_refused():
    def judge(part):
        key = part.field("key")[0]
        if key == "no":
            return Decision(valid=False, algorithm="search")
        return undecided("too long") if key == "open" else Decision(valid=True, algorithm="fast")

    decision = by_key(table("open", "yes"), judge)
    assert (decision.valid, decision.unknown) == ("unknown", ["key 'open': too long"])
    assert decision.algorithm == "fast"
    assert by_key(table("open", "yes", "no"), judge).valid is False


def test_of_one_key_or_none_the_table_is_judged_as_it_is():
    one = table("a", "a")
    none = OperationTable.from_rows([{"f": "read", "call": 1}])
    nothing = OperationTable.from_rows([])
    for whole in (one, none, nothing):
        judged = []
        by_key(whole, lambda part, judged=judged: judged.append(part) or accepted())
        assert judged == [whole]


class Searches:
    """Parts that take so long each, on a clock of their own."""

    def __init__(self, seconds, refused=()):
        self.seconds = seconds
        self.refused = refused
        self.now = 0.0
        self.shares = []

    def budget(self, seconds):
        return Budget(seconds, clock=lambda: self.now)

    def decide(self, part, budget):
        key = part.field("key")[0]
        self.shares.append((key, budget.seconds))
        if self.seconds[key] >= budget.seconds:
            self.now += budget.seconds
            return undecided("time is up")
        self.now += self.seconds[key]
        if key not in self.refused:
            return accepted()
        # To make the witness minimal takes as long again.
        minimal = 2 * self.seconds[key] < budget.seconds
        return Decision(
            valid=False, witness=Witness(operations=[0], description="", minimal=minimal)
        )


def test_a_long_search_for_one_key_hides_no_violation_of_another():
    searches = Searches({"long": 100, "short": 0.1 * FIRST_SHARE_S}, refused={"short"})
    decision = in_turns(table("long", "short"), searches.decide, searches.budget(60))
    assert (decision.valid, decision.witness.operations) == (False, [1])
    assert searches.now < 2 * FIRST_SHARE_S


def test_what_needs_more_than_its_first_share_gets_ten_times_as_much():
    searches = Searches({"a": 3 * FIRST_SHARE_S, "b": 20 * FIRST_SHARE_S, "c": 0})
    assert in_turns(table("a", "b", "c"), searches.decide, searches.budget(60)).valid is True
    shares = [(key, round(share / FIRST_SHARE_S)) for key, share in searches.shares]
    assert shares == [("a", 1), ("b", 1), ("c", 1), ("a", 10), ("b", 10), ("b", 100)]


def test_what_is_left_of_the_budget_is_shared_evenly_in_the_last_turn():
    searches = Searches(dict.fromkeys("ab", 100))
    decision = in_turns(table("a", "b"), searches.decide, searches.budget(2))
    assert decision.unknown == ["key 'a': time is up", "key 'b': time is up"]
    assert searches.now == 2
    assert searches.shares[-2][1] == searches.shares[-1][1] > FIRST_SHARE_S


def test_an_answer_that_did_not_use_up_its_share_is_final():
    asked = []
    by_key(table("a", "b"), lambda part: asked.append(part) or undecided("never"))
    assert len(asked) == 2


def test_a_witness_that_is_cut_short_by_a_share_is_looked_for_again():
    searches = Searches({"a": 0.6 * FIRST_SHARE_S, "b": 0}, refused={"a"})
    assert in_turns(table("a", "b"), searches.decide, searches.budget(60)).witness.minimal
