"""How checks are declared and performed."""

from functools import partial

import pytest

from rumpus.checker.check import all_kinds, check, declaration, declared_checks, perform
from rumpus.checker.history import History
from rumpus.checker.verdict import Anomaly, CheckResult, Kind
from tests.checker.laid_out import laid_out

LATE = Kind("late", "it came late")
RUN = laid_out(History([]), prevents=())


@check("trains", finds=[LATE], unless=["rails"])
def check_trains(_timeline, minutes=0):
    if minutes:
        yield Anomaly(kind="late", description=f"{minutes} minutes")


def test_a_check_that_yields_anomalies_makes_a_result_with_the_declared_name_and_kinds():
    result = perform(partial(check_trains, minutes=3), RUN, ())
    assert result.name == "trains"
    assert [each.description for each in result.anomalies] == ["3 minutes"]
    assert result.kinds == {"late": LATE}
    assert perform(check_trains, RUN, ()).anomalies == []


def test_a_check_of_nobodys_declaration_is_called_by_its_function():
    def _nobody_was_early(_timeline):
        yield from ()

    assert perform(_nobody_was_early, RUN, ()).name == "nobody_was_early"


def test_a_check_is_left_out_if_another_has_found_something_or_it_does_not_apply():
    broken = CheckResult(name="rails", anomalies=[Anomaly(kind="broken", description="")])
    assert perform(partial(check_trains, minutes=3), RUN, [broken]) is None
    assert perform(partial(check_trains, minutes=3), RUN, [CheckResult(name="rails")]) is not None
    assert perform(lambda _: None, RUN, ()) is None


def test_every_check_that_makes_another_needless_is_there():
    names = {declared.name for declared in declared_checks()}
    assert {name for declared in declared_checks() for name in declared.unless} <= names
    assert declaration(check_trains) not in declared_checks()


def test_each_kind_means_one_thing():
    assert all(kind.meaning and kind.name == name for name, kind in all_kinds().items())
    all_kinds.cache_clear()
    with pytest.MonkeyPatch.context() as patched:
        other = declaration(check("x", finds=[Kind("herd", "something else")])(lambda _: None))
        patched.setattr("rumpus.checker.check.declared_checks", lambda: [*declared_checks(), other])
        with pytest.raises(ValueError, match="different things by herd"):
            all_kinds()
    all_kinds.cache_clear()


def test_a_part_is_worked_out_once():
    made = []
    timeline = laid_out(History([]), prevents=())
    build = lambda each: made.append(each) or len(made)  # noqa: E731 - named, to be given twice
    assert (timeline.part(build), timeline.part(build)) == (1, 1)
    assert made == [timeline]
