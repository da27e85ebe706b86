"""A model's steps against a plain Python object that does the same, one operation at a time."""

from rumpus.checker.models.model import ILLEGAL, UNKNOWN


def follow(model, calls, plain, answers=()):
    """Step a model through calls beside a plain object.

    Whatever the object answers must be legal, every other of the answers must not be, and of
    unknown outcome an operation must do the same to the state.

    Args:
        model: the model.
        calls: pairs of function and argument.
        plain: function, argument -> the true answer; NotImplemented if it does not return.
        answers: what functions might answer, by function; those that are not named say nothing.

    Returns:
        The last state.
    """
    state = model.initial
    for f, argument in calls:
        result = plain(f, argument)
        if result is NotImplemented:
            assert model.step(state, f, argument, None) is ILLEGAL
            assert model.step(state, f, argument, UNKNOWN) is ILLEGAL
            continue
        after = model.step(state, f, argument, result)
        assert after is not ILLEGAL, (state, f, argument, result)
        for answer in dict(answers).get(f, ()):
            if answer != result:
                assert model.step(state, f, argument, answer) is ILLEGAL, (state, f, answer)
        if f in model.observers:
            assert after == state
            assert model.step(state, f, argument, UNKNOWN) == state
        else:
            assert model.step(state, f, argument, UNKNOWN) == after
        if f in model.blind:
            assert model.step(model.initial, f, argument, result) == after
        hash(after)
        state = after
    return state
