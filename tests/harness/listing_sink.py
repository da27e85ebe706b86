"""A history that stays in memory."""


class ListingSink:
    def __init__(self):
        self.ops = []

    def append(self, op):
        self.ops.append(op)

    def flush(self):
        pass
