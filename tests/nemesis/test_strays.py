from rumpus.nemesis.strays import strays


def test_a_whole_world_has_none(make_world):
    assert strays(make_world().context()) == []


def test_everything_that_is_broken_is_found_and_mended(make_world):
    world = make_world()
    world.servers.kill("n1")
    world.servers.pause("n2")
    world.servers.partition({"n3": frozenset({"n1"})})
    world.clients.pause(0)
    world.clients.kill(1)
    world.links.cut(1, "reset", ["n1"])
    found = strays(world.context())
    assert [stray.words for stray in found] == [
        "servers were partitioned",
        "n1 was dead",
        "n2 was paused",
        "c0 was paused",
        "c1's links were cut (reset)",
        "c1 was dead",
    ]
    assert [stray.name for stray in found] == ["network", "n1", "n2", "c0", "c1", "c1"]
    for stray in found:
        stray.mend()
    assert strays(world.context()) == []
