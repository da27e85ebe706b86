"""Unique numbers that only grow: ``generate`` -> a number."""

from functools import partial

from rumpus.checker.every_run.model_check import DUPLICATE_SEQUENCE
from rumpus.checker.families.growing_numbers import check_growth
from rumpus.harness.generators.script import Client, Steps
from rumpus.recipes.znodes.catalogue import SEQUENCES
from rumpus.recipes.znodes.sequence import SequentialNodes, VersionNumbers
from rumpus.workloads.framework.checks import follows
from rumpus.workloads.framework.operation import operation
from rumpus.workloads.own.own_interfaces import OwnSequence
from rumpus.workloads.znodes.znode_workload import ZnodeWorkload


class SequenceWorkload(ZnodeWorkload):
    """Clients draw numbers that are unique and only grow."""

    name = "sequence"
    catalogue = SEQUENCES
    adapter = OwnSequence
    model = "unique-ids"
    main = "generate"
    requests = ("write",)
    uses_answers = True
    checks = (follows("unique-ids", DUPLICATE_SEQUENCE), partial(check_growth, f="generate"))
    at_the_end = (("generate", None),)

    @operation()
    def generate(self, numbers: SequentialNodes | VersionNumbers) -> int:
        """Draw a number."""
        return numbers.generate()

    def load(self, client: Client) -> Steps:
        """Every client draws numbers all the time."""
        while not client.is_over:
            yield self.generate()


SEQUENCE = SequenceWorkload()
