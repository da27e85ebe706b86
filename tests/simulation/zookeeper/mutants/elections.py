"""A change of the leader."""


def kill_leader(world):
    """Kill n3, and wait until n1 and n2 serve with another leader."""
    world.kill("n3")
    world.wait_for(lambda: world.cluster.leader() in {"n1", "n2"})
    world.wait_for(world.serving("n1", "n2"))
