"""A world with one disk and one process, which tests of what lies on it build on."""

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.simulator import SECOND, Simulator


class OneDisk:
    def __init__(self, seed=1):
        self.simulator = Simulator(seed)
        self.disk = Disk(self.simulator, "n1")
        self.process = self.simulator.process("n1")

    def done(self, start, *arguments):
        """What a call answers that takes a process and a callback after its arguments."""
        answers = []
        start(*arguments, self.process, answers.append)
        self.simulator.run(self.simulator.now + SECOND)
        (answer,) = answers
        return answer
