from rumpus.recipes.mistake import Mistake, given, heard, made


def test_nobody_listens_in_an_ordinary_run():
    asked = []
    made("/lock/a", unless=lambda: asked.append("a clock") is None)
    assert given(True, False, "/lock/a") is True
    assert asked == []


def test_a_listener_hears_what_a_mistake_is_about():
    heard_of = []
    with heard(lambda mistake, unless: heard_of.append((mistake, unless))):
        made("/lock/a", 7)
        made(own=True, lasting=True)
    made("after it has gone")
    assert heard_of == [
        (Mistake(("/lock/a", 7), lasting=False, own=False), None),
        (Mistake((), lasting=True, own=True), None),
    ]


def test_a_listener_decides_whether_the_sound_recipe_would_act_the_same():
    answers = []
    with heard(lambda _, unless: answers.append(unless())):
        made(unless=lambda: True)
        made(unless=lambda: False)
    assert answers == [True, False]


def test_an_answer_is_a_mistake_if_it_is_another_than_the_sound_one():
    heard_of = []
    with heard(lambda mistake, _: heard_of.append(mistake)):
        assert given(1, 1, "a") == 1
        assert given(1, 2, "a") == 1
        assert given(None, 2) is None
    assert heard_of == [Mistake(("a",), lasting=True, own=False), Mistake((), False, False)]
