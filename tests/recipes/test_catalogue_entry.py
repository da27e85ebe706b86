import pytest

from rumpus.recipes.catalogue_entry import mutant, sound, variant
from rumpus.workloads.registry import WORKLOADS


class Engine:
    def turns(self):
        return "well"


class Car:
    engine = Engine

    def drive(self):
        return self.engine().turns()


class Backwards:
    def drive(self):
        return f"{super().drive()}, backwards"


class Stuttering(Engine):
    def turns(self):
        return "now and then"


def test_a_variant_has_other_parts_and_is_a_subclass():
    made = variant(Car, engine=Stuttering)
    assert issubclass(made, Car)
    assert made().drive() == "now and then"
    assert Car().drive() == "well"


def test_a_mistake_goes_before_the_sound_class():
    made = variant(Car, Backwards, engine=Stuttering)
    assert made().drive() == "now and then, backwards"
    assert made.__name__ == "BackwardsStutteringCar"


def test_a_part_that_the_sound_class_does_not_have_is_refused():
    with pytest.raises(AttributeError, match="motor"):
        variant(Car, motor=Stuttering)


def test_who_has_a_mistake_is_faulty():
    assert not sound(Car).faulty
    entry = mutant(variant(Car, Backwards), "drives backwards", {"crash"}, printed="L 1")
    assert entry.faulty
    assert (entry.expected, entry.printed) == (frozenset({"crash"}), "L 1")


def test_recipes_carry_nothing_that_only_tests_need():
    for workload in WORKLOADS.values():
        for recipe in workload.recipes.values():
            assert not {"faulty", "mistake", "expected", "printed"} & set(dir(recipe))
