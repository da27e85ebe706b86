"""Pairs of clusters against the definition: some order of all clusters that breaks no edge."""

from itertools import permutations

import numpy as np
from hypothesis import note

from rumpus.checker.deciders.registers.zones import contradicting_clusters
from tests.checker.crosscheck import crosscheck


def before(one, other):
    """Whether a cluster (first return, last call) must come before another."""
    return one[0] < other[1]


def can_be_ordered(clusters):
    return any(
        not any(before(later, earlier) for k, later in enumerate(order) for earlier in order[:k])
        for order in permutations(clusters)
    )


def test_agrees_with_the_definition():
    def agrees(rng):
        moments = range(12)
        clusters = [(rng.choice(moments), rng.choice(moments)) for _ in range(rng.randint(0, 5))]
        note(clusters)
        columns = np.array(clusters, dtype=np.int64).reshape(-1, 2)
        pair = contradicting_clusters(columns[:, 0], columns[:, 1])
        assert (pair is None) == can_be_ordered(clusters)
        if pair is not None:
            one, other = (clusters[place] for place in pair)
            assert pair[0] != pair[1]
            assert before(one, other)
            assert before(other, one)
        return pair is not None

    crosscheck(agrees)
