"""How a command says that what it was asked for cannot be."""


def refused(answer, *words):
    assert (answer.code, answer.out) == (2, "")
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err
    return answer.err
