def test_ours_keeps_its_promises(simulate):
    _, _, verdict = simulate(1, workload="semaphore", seconds=6.0, kinds=["client-partition"])
    assert verdict.outcome == "valid", verdict.reasons
