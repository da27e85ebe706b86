from rumpus.harness.witness import Witness


def test_without_fencing_everything_is_accepted_in_order():
    witness = Witness()
    assert [witness.act(token) for token in (5, 3, None)] == [(True, 0), (True, 1), (True, 2)]


def test_with_fencing_a_lower_token_is_refused_for_good():
    witness = Witness(fencing=True)
    assert [witness.act(token)[0] for token in (33, 33, 34, 33, 34)] == [
        True,
        True,
        True,
        False,
        True,
    ]
    assert witness.refused == 1


def test_with_fencing_an_action_without_a_token_is_refused():
    witness = Witness(fencing=True)
    assert [witness.act(token)[0] for token in (None, 33, None, 33)] == [False, True, False, True]
    assert witness.refused == 2
