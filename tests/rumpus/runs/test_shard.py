import pytest

from rumpus.runs.shard import Shard


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_each_seed_belongs_to_one_part_and_each_part_has_runs_of_both_kinds(parts):
    shards = [Shard(index, parts) for index in range(parts)]
    seeds = range(-4 * parts, 4 * parts)
    for seed in seeds:
        assert sum(shard.has(seed) for shard in shards) == 1
    for shard in shards:
        assert {seed % 2 for seed in seeds if shard.has(seed)} == {0, 1}
