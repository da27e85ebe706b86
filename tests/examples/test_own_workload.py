from tests.sampling import one_in


@one_in(4)
def test_a_workload_of_its_own_judges_a_sound_recipe_and_a_wrong_one(run_example):
    told, outcomes = run_example("own_workload", "--rumpus-seeds", "2")
    assert outcomes == {"passed": 2}, told
