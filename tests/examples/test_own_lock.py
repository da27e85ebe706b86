# All kinds of fault fit into 12 s.
BRIEF = ("--rumpus-seeds", "2", "--rumpus-time-limit", "12")


def test_the_wrong_lock_is_found_and_the_failure_tells_what_happened(run_example):
    told, outcomes = run_example("own_lock", "tests/test_lock.py")
    assert outcomes == {"failed": 1}
    assert "split-brain" in told
    assert "what happened:" in told
    assert "rumpus run lock --recipe warehouse.lock:AisleLock" in told
    assert "Traceback" not in told


def test_the_mended_lock_keeps_its_promises(run_example):
    told, outcomes = run_example("own_lock", "tests/test_mended_lock.py", *BRIEF)
    assert outcomes == {"passed": 1}, told
