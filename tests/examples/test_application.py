from tests.sampling import one_in


@one_in(4)
def test_a_service_is_tested_on_servers_that_fail(run_example):
    told, outcomes = run_example("application")
    assert outcomes == {"passed": 3}, told
