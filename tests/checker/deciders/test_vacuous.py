"""A history in which nothing could have been wrong is not valid."""

import pytest

import rumpus


def call(process, f, value=None, answer=None, kind="ok"):
    return [
        {"process": process, "type": "invoke", "f": f, "value": value},
        {"process": process, "type": kind, "f": f, "value": answer},
    ]


def outcome(model, *calls, **more):
    return rumpus.check([record for each in calls for record in each], model, **more).outcome


NOTHING_COULD_BE_WRONG = [
    ("mutex", [call(0, "acquire")]),
    ("fifo-queue", [call(each, "enqueue", each) for each in range(200)]),
    ("register", [call(each, "write", each) for each in range(5)]),
    ("append", [call(each, "append", str(each)) for each in range(5)]),
    ("fencing-tokens", [call(0, "acquire", None, {"token": 4})]),
    ("session-guarantees", [call(0, "sync"), call(1, "sync")]),
]


@pytest.mark.parametrize(("model", "calls"), NOTHING_COULD_BE_WRONG)
def test_what_contradicts_nothing_decides_nothing(model, calls):
    assert outcome(model, *calls) == "unknown"


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        ("mutex", [call(0, "acquire"), call(0, "release"), call(1, "acquire")]),
        ("fifo-queue", [*NOTHING_COULD_BE_WRONG[1][1], call(0, "dequeue", None, 0)]),
        ("register", [call(0, "read", None, 3)]),
        ("append", [call(0, "append", "a"), call(0, "read", None, "a")]),
        (
            "fencing-tokens",
            [
                call(0, "acquire", None, {"token": 4}),
                call(0, "release"),
                call(1, "acquire", None, {"token": 5}),
            ],
        ),
    ],
)
def test_one_answer_that_counts_is_enough(model, calls):
    more = {"initial": 3} if model == "register" else {}
    assert outcome(model, *calls, **more) == "valid"


def test_a_model_of_ones_own_is_asked_likewise():
    class Gauge(rumpus.Model):
        functions = frozenset({"read", "write"})
        initial = 0

        def step(self, state, f, argument, result):
            if f == "write":
                return argument
            return state if result in (state, rumpus.UNKNOWN) else rumpus.ILLEGAL

    assert outcome(Gauge, call(0, "write", 3)) == "unknown"
    assert outcome(Gauge, call(0, "write", 3), call(0, "read", None, 3)) == "valid"


@pytest.mark.parametrize("model", ["fencing-tokens", "fenced-mutex"])
def test_a_grant_without_a_token_among_those_that_have_one(model):
    def grants(*tokens):
        for token in tokens:
            yield call(0, "acquire", None, None if token is None else {"token": token})
            yield call(0, "release")

    assert outcome(model, *grants(1, 2, 3)) == "valid"
    assert outcome(model, *grants(1, None, 3)) == "unknown"
    assert outcome(model, *grants(3, None, 1)) == "violation"
