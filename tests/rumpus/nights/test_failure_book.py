"""Failures told apart: which runs show the same one, and what shrinking makes of it."""

from dataclasses import dataclass, field

import msgspec
import pytest

from rumpus.campaigns.rulings import Ruling, Rulings
from rumpus.nights.failure_book import FailureBook
from rumpus.nights.records import FailureRow, Subject
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.traits import Traits
from tests.rumpus.nights.made import case_of_kind, outcome_of, plan_of, seen_of

FAIR = Subject(workload="lock", recipe="fair")
REAL = Subject(workload="lock", recipe="fair", world="docker")
OTHER = Subject(workload="lock", recipe="kazoo")
GRANT = seen_of("double-grant", "acquire")


@dataclass
class Kept:
    """A keeper that remembers what it was told, in order."""

    told: list = field(default_factory=list)

    def note_failure(self, failure):
        self.told.append(("note", failure.id))

    def replace_failure(self, old, new):
        self.told.append(("replace", old, new.id))


@pytest.fixture
def keeper():
    return Kept()


@pytest.fixture
def book(keeper):
    ticks = iter(range(10**6))

    def make(*before, night="tonight"):
        return FailureBook(
            night, before, keep=lambda change: change(keeper), now=lambda: float(next(ticks))
        )

    return make


def case_after(*kinds, kind="double-grant"):
    return case_of_kind(
        plan=plan_of(*kinds),
        expects=Fingerprint(kind=kind, operations=("acquire",), faults=tuple(sorted(kinds))),
    )


def test_a_failure_that_is_not_shrunk_stands_for_all_of_its_kind(book, keeper):
    noted = book()
    first, small = noted.note(FAIR, outcome_of(GRANT, faults=("kill",)))
    second, none = noted.note(FAIR, outcome_of(GRANT, faults=("pause",), seed=1))
    assert (len(first), first) == (1, second)
    assert ([each.id for each in small], none) == (first, [])
    assert noted.tonight == {first[0]: 2}
    assert noted.failures[first[0]].runs == 2
    assert keeper.told == [("note", first[0])]


def test_another_kind_operation_or_recipe_is_another_failure(book):
    noted = book()
    outcomes = [
        (FAIR, outcome_of(GRANT)),
        (FAIR, outcome_of(seen_of("split-brain", "acquire"))),
        (FAIR, outcome_of(seen_of("double-grant", "release"))),
        (OTHER, outcome_of(GRANT)),
    ]
    ids = {noted.note(*each)[0][0] for each in outcomes}
    assert len(ids) == 4


def test_what_is_not_promised_is_no_failure(book):
    assert book().note(FAIR, outcome_of(seen_of("hazard", promised=False))) == ([], [])


def test_a_run_counts_once_for_each_failure(book):
    noted = book()
    ids, _ = noted.note(FAIR, outcome_of(GRANT, seen_of("split-brain"), faults=("kill",)))
    assert len(ids) == 2
    assert set(noted.tonight.values()) == {1}


def test_a_shrunk_one_stands_for_runs_with_its_faults_alone(book, keeper):
    noted = book()
    (old,), _ = noted.note(FAIR, outcome_of(GRANT, faults=("kill", "pause")))
    new = noted.shrunk(old, case_after("kill"), done=True)
    assert new != old
    assert noted.tonight == {new: 1}
    assert keeper.told[-1] == ("replace", old, new)
    assert noted.note(FAIR, outcome_of(GRANT, faults=("kill", "pause")))[0] == [new]
    other, small = noted.note(FAIR, outcome_of(GRANT, faults=("pause",)))
    assert other != [new]
    assert [each.id for each in small] == other, "it is made small, too"
    assert noted.tonight == {new: 2, other[0]: 1}


def test_shrinking_that_was_cut_off_keeps_the_failure_as_it_is(book, keeper):
    noted = book()
    (old,), _ = noted.note(FAIR, outcome_of(GRANT, faults=("kill", "pause")))
    case = case_after("kill")
    assert noted.shrunk(old, case, done=False) == old
    row = noted.failures[old]
    assert (row.shrunk, row.case, row.fingerprint.faults) == (False, case, ())
    assert noted.unshrunk == [row]
    assert noted.note(FAIR, outcome_of(GRANT, faults=("pause",))) == ([old], [])
    assert ("note", old) in keeper.told


def test_two_that_turn_out_to_be_one_become_one(book):
    former = FailureRow(
        workload="lock",
        recipe="fair",
        fingerprint=case_after("kill").expects,
        shrunk=True,
        case=case_after("kill"),
        first_night="before",
        last_night="before",
        first_seen=-5.0,
        last_seen=-4.0,
        runs=3,
    )
    noted = book(former)
    (old,), _ = noted.note(FAIR, outcome_of(GRANT, faults=("pause",)))
    assert old != former.id
    assert noted.shrunk(old, case_after("kill"), done=True) == former.id
    row = noted.failures[former.id]
    assert (row.first_night, row.first_seen, row.runs) == ("before", -5.0, 4)
    assert (row.last_night, row.last_seen > 0) == ("tonight", True)
    assert noted.tonight == {former.id: 1}
    assert old not in noted.failures
    assert not noted.is_new(row)


def test_a_shrunk_one_explains_rather_than_another(book):
    unshrunk = FailureRow(workload="lock", recipe="fair", fingerprint=GRANT.fingerprint)
    shrunk = msgspec.structs.replace(unshrunk, fingerprint=case_after("kill").expects, shrunk=True)
    noted = book(unshrunk, shrunk)
    assert noted.note(FAIR, outcome_of(GRANT, faults=("kill",)))[0] == [shrunk.id]
    assert noted.note(FAIR, outcome_of(GRANT, faults=("pause",)))[0] == [unshrunk.id]


def test_deaths_are_told_apart_by_how_they_end(book):
    noted = book()
    one, again, other = (noted.note_death(FAIR, how) for how in ("SIGSEGV", "SIGSEGV", "SIGKILL"))
    assert one == again != other
    assert noted.tonight == {one: 2, other: 1}
    assert noted.unshrunk == [], "nothing can be made small without a case"


def test_new_is_what_no_night_before_has_seen(book):
    first = book(night="first")
    (id_,), _ = first.note(FAIR, outcome_of(GRANT))
    second = book(*first.failures.values(), night="second")
    assert second.note(FAIR, outcome_of(GRANT))[0] == [id_]
    assert not second.is_new(second.failures[id_])
    (new,), _ = second.note(OTHER, outcome_of(GRANT))
    assert second.is_new(second.failures[new])
    assert second.failures[id_].runs == 2


def test_what_a_night_saw_before_it_was_resumed_is_still_new(book):
    killed = book()
    (id_,), _ = killed.note(FAIR, outcome_of(GRANT))
    resumed = book(*killed.failures.values())
    assert resumed.tonight == {}
    ids, small = resumed.note(FAIR, outcome_of(GRANT))
    assert resumed.is_new(resumed.failures[id_])
    assert [each.id for each in small] == ids, "nobody has made it small yet"


def test_runs_on_real_servers_are_not_made_small(book):
    noted = book()
    ids, small = noted.note(REAL, outcome_of(GRANT, digest=None))
    assert (len(ids), small) == (1, [])
    assert [each.id for each in noted.note(FAIR, outcome_of(GRANT))[1]] == ids


def signs(kind, *, at="a.py:1 in f", call=""):
    name = at.partition(":")[0]
    return Traits(
        kind=kind,
        operations=("acquire",),
        words=name,
        requests=(f"acquire: {name}",),
        places=(at,),
        standing=(f"one in acquire: {name}",),
        sessions=(name,),
        znodes=(name,),
        story=(name,),
        calls_of=(call,) if call else (),
    )


def test_what_the_same_call_shows_is_the_known_failure_however_it_shows(book):
    noted = book()
    grant = seen_of("double-grant", "acquire", traits=signs("double-grant"))
    herd = signs("herd", at="b.py:9 in g", call="double-grant of acquire")
    beside = seen_of("herd", "acquire", traits=herd)
    ids, small = noted.note(FAIR, outcome_of(grant, beside))
    assert (len(ids), len(small)) == (1, 1)
    alone, _ = noted.note(FAIR, outcome_of(beside, seed=1))
    assert alone == ids
    looks = noted.failures[ids[0]].looks
    assert [str(each.fingerprint) for each in looks] == [
        "double-grant of acquire",
        "herd of acquire",
    ]
    assert looks[1].why == "the same call shows double-grant of acquire"


def test_what_is_like_a_shrunk_failure_is_that_one_though_it_lacks_its_faults(book):
    noted = book()
    grant = seen_of("double-grant", "acquire", traits=signs("double-grant"))
    (first,), _ = noted.note(FAIR, outcome_of(grant, faults=("kill",)))
    shrunk = noted.shrunk(first, case_after("kill"), done=True)
    assert noted.note(FAIR, outcome_of(grant, faults=("pause",), seed=1)) == ([shrunk], [])
    assert noted.note(FAIR, outcome_of(GRANT, faults=("pause",), seed=2))[0] != [shrunk]


def test_rulings_merge_and_split(keeper):
    rulings = Rulings(
        one=(Ruling(cases=("double-grant of acquire", "deadlock of acquire"), why="one check"),),
        apart=(Ruling(cases=("double-grant of acquire", "herd of acquire"), why="two lines"),),
    )
    noted = FailureBook(
        "tonight", (), keep=lambda change: change(keeper), now=lambda: 0.0, rulings=rulings
    )
    grant = seen_of("double-grant", "acquire", traits=signs("double-grant"))
    herd = seen_of("herd", "acquire", traits=signs("herd", call="double-grant of acquire"))
    ids, _ = noted.note(FAIR, outcome_of(grant, herd, seen_of("deadlock", "acquire")))
    assert len(ids) == 2
    assert noted.failures[ids[0]].looks[1].why == "by a ruling: one check"
