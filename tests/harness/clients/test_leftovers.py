from rumpus.harness.clients.leftovers import look_until, until_nothing_is_left


def test_looks_go_on_until_one_is_as_it_should_be():
    looks = iter([["a", "b"], ["b"], [], ["c"]])
    assert until_nothing_is_left(lambda: next(looks), 60.0) == []
    assert look_until(lambda seen: seen == ["c"], lambda: next(looks), 60.0) == ["c"]


def test_the_last_look_is_told_when_the_patience_is_over():
    assert until_nothing_is_left(lambda: ["a"], 0.0) == ["a"]
