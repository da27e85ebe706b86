"""A workload and its recipes as another repository has them: at most two clients at a time."""

import time
import uuid

from rumpus import Anomaly, CheckResult, Timeline, Workload, at_least, operation

LIMIT = 2


class Limiter:
    """A place is an ephemeral child, made by whoever has the lock and finds few enough."""

    def __init__(self, client, path):
        self.client, self.places = client, f"{path}/places"
        self.door = client.Lock(f"{path}/door")
        self.place = None

    def enter(self):
        self.client.ensure_path(self.places)
        with self.door:
            if not self.may_enter():
                return False
            self.place = f"{self.places}/{uuid.uuid4().hex}"
            self.client.create(self.place, ephemeral=True)
        return True

    def may_enter(self):
        return len(self.client.get_children(self.places)) < LIMIT

    def leave(self):
        self.client.delete(self.place)


class LimitsNothing(Limiter):
    """The mistake."""

    def may_enter(self):
        return True


def _inside(timeline: Timeline, kind: str) -> CheckResult:
    """How many clients were inside at once: from the return of enter to the call of leave."""
    result = CheckResult(name="inside")
    inside = set()
    for op in timeline.history:
        if op.f == "enter" and op.type == "ok" and op.value:
            inside.add(op.process)
            if len(inside) > LIMIT:
                text = f"{len(inside)} clients were inside"
                result.anomalies.append(
                    Anomaly(kind=kind, description=text, ops=[op.index], start=op.time, end=op.time)
                )
        elif op.f == "leave" and op.type == "invoke":
            inside.discard(op.process)
    return result


def over_limit(timeline: Timeline) -> CheckResult:
    return _inside(timeline, "over-limit")


def stale_beliefs(timeline: Timeline) -> CheckResult:
    """The same, by a name that rumpus has, and that no recipe promises unless it says so."""
    return _inside(timeline, "stale-belief")


class Limits(Workload):
    """Clients go in, stay for a moment, and leave."""

    name = "limits"
    model = "limits"
    main = "enter"
    catalogue = {"limiter": Limiter, "limits-nothing": LimitsNothing}  # noqa: RUF012 - as users write
    checks = (over_limit,)
    needs = (at_least(20, "enter", "entries"),)

    def open(self, recipe, context):
        return recipe(context.kazoo, self.path)

    @operation()
    def enter(self, limiter) -> bool:
        return limiter.enter()

    @operation()
    def leave(self, limiter) -> None:
        limiter.leave()

    @operation()
    def stay(self, limiter) -> None:  # noqa: ARG002 - an operation has it
        time.sleep(0.01)

    def load(self, client):
        while not client.is_over:
            entered = yield self.enter()
            if entered.type == "ok" and entered.value:
                yield self.stay()
                yield self.leave()

    def final(self):
        return []


class DeclaredLimits(Limits):
    """The same, with what its check reports declared."""

    anomalies = {"over-limit": "more were inside than may be"}  # noqa: RUF012 - as above


class HazardousLimits(DeclaredLimits):
    """The same, and it is no violation."""

    hazards = ("over-limit",)


class StaleLimits(Limits):
    """Reports what rumpus has a name for."""

    checks = (stale_beliefs,)


class StaleHazards(StaleLimits):
    """The same, and it is no violation."""

    hazards = ("stale-belief",)
