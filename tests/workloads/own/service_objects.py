"""Objects as people write them for servers of other systems."""

import rumpus


class Asked:
    """Says yes, or raises what the test asks for."""

    outcome_unknown = KeyError

    def __init__(self, client, path, services, name):
        self.given = client, path, services, name
        self.error = None

    def acquire(self):
        if self.error is not None:
            raise self.error
        return True

    def release(self):
        if self.error is not None:
            raise self.error


class Unreachable(Asked):
    def __init__(self, client, path, services):
        super().__init__(client, path, services, "")
        raise ConnectionRefusedError(111, "refused")


class Permits(Asked):
    def __init__(self, client, path, permits, services):
        super().__init__(client, path, services, "")
        self.permits = permits


class Runs:
    def __init__(self, client, path, services):
        self.given = client, path, services

    def run(self, function):
        function()


class Leaves(Asked):
    closed = False

    def left(self):
        return ["row 7"]

    def close(self):
        self.closed = True


class Declared(Asked):
    promises = rumpus.Promises(
        prevents=frozenset({"split-brain", "double-grant", "stale-action", "unfair-grant"})
    )
