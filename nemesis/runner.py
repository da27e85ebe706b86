"""The nemesis: carries out a fault plan, and reports of every fault whether it was in force.

The harness dispatches the actions of ``schedule`` to ``invoke`` one at a time, on a thread of
their own, records what comes back, and calls ``heal_all`` when the load has ended for whatever
reason. What comes back is the ``value`` of a nemesis record (``checker.history``).
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Literal

import msgspec

from rumpus.harness.clients.clients import Clients, Roles
from rumpus.harness.ensemble import Ensemble, EnvironmentRefusal
from rumpus.harness.links.links import Links
from rumpus.harness.links.triggers import TriggerLinks
from rumpus.harness.own_client import open_client
from rumpus.harness.simulated_faults import ClientMachines
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.fault_context import FaultContext, Finding, Hit, NeverActed
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.recovery import HEAL_BOUND, clients_back, servers_back
from rumpus.nemesis.registry import make_fault
from rumpus.nemesis.strays import strays

log = logging.getLogger(__name__)

ACTION_BOUND = 30.0
"""Seconds that ``heal_all`` waits for an action under way."""
WAIT = 0.1
"""Seconds between two checks whether a fault's duration is over."""
LEAST_LOOK = 0.25
"""Seconds for which a fault is looked at, at least, where plans are punctual."""


@dataclass(frozen=True)
class ScheduledAction:
    """Something to invoke ``time`` nanoseconds after the load began."""

    time: int
    f: Literal["start", "stop"]
    value: dict[str, Any]


class Nemesis:
    """Turns the entries of a plan into faults.

    Args:
        plan: a valid plan (``nemesis.plan.validate``).
        ensemble: the servers.
        links: the clients' connections.
        clients: the client processes.
        roles: which client is the holder, and which is next in line.
        seed: decides what the plan leaves open, for each entry independently.
        sleep: waits for seconds.
        monotonic: seconds, on the clock that ``sleep`` follows.
        stop_requested: once true, no action waits any longer and no fault starts.
        connect: makes the kazoo client of faults that change znodes (``FaultContext.kazoo``).
    """

    def __init__(
        self,
        plan: FaultPlan,
        ensemble: Ensemble,
        links: Links,
        clients: Clients,
        roles: Roles,
        seed: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        stop_requested: Callable[[], bool] = lambda: False,
        connect: Callable[[str, Callable[[int], None]], Any] = open_client,
    ) -> None:
        self._plan = plan
        self._seed = seed
        self._entries = {entry.id: entry for entry in plan.entries}
        self._context = FaultContext(ensemble, links, clients, roles, sleep, monotonic)
        self._context.hurried = self._hurried
        self._context.connect = connect
        self._stop_requested = stop_requested
        self._open: dict[int, Fault[Any]] = {}
        self._closed: dict[int, dict[str, Any]] = {}
        self._acting = False
        self._ending = False
        self._healing = False
        self._actions = 0
        self._unhealed: set[str] = set()
        """Targets of faults that were not seen to be healed."""
        self._recovering: set[int] = set()
        """Faults of a punctual plan that were healed, and have not been seen to be healed yet."""
        self._named = {entry.targets.of for entry in plan.entries}
        self._looking = (0, 0.0, 0.0)
        """Entry, time in the plan, and beginning of the action under way; of punctual plans."""
        self._began: float | None = None
        """When the load began, on the context's clock; None before the first action."""

    def schedule(self) -> list[ScheduledAction]:
        """Every entry's start and stop, in order of time; at the same time stops go first."""
        actions = []
        for entry in self._plan.entries:
            value = {
                "id": entry.id,
                "kind": entry.kind,
                "targets": msgspec.to_builtins(entry.targets),
            }
            actions.append(ScheduledAction(round(entry.at * 1e9), "start", value))
            actions.append(ScheduledAction(round(entry.end * 1e9), "stop", value))
        return sorted(actions, key=lambda action: (action.time, action.f == "start"))

    def _hurried(self) -> bool:
        return not self._healing and (self._ending or self._stop_requested())

    def invoke(self, f: str, value: dict[str, Any]) -> dict[str, Any]:
        """Carry out a scheduled action; blocks until it is verified or given up.

        A fault is healed no sooner than its duration after it was injected, so that one whose
        injection took long is not cut short.

        In a punctual plan, looking whether it is in force or healed ends when the next action is
        due. What has not been seen to be healed by then is looked at after each later action.

        Returns:
            ``id``, ``kind``, ``targets`` (names), ``verified`` (in force after ``start``, healed
            after ``stop``), ``detail`` in words; ``grudge`` of partitions, ``how`` of client
            partitions and rolling upgrades, ``struck`` of lost replies; ``sessions`` that faults
            have had themselves, if any. What goes wrong is in ``detail``, not raised.
            In a punctual plan also ``recovering`` (true: whether it is healed will be told
            later) and ``healed``: what ``stop`` returns, for each earlier fault that has been seen
            to be healed by now.

        Raises:
            ValueError: no such action, or no such entry in the plan.
        """
        if f not in {"start", "stop"} or value.get("id") not in self._entries:
            raise ValueError(f"no action {f} for entry {value.get('id')} in the plan")
        entry = self._entries[value["id"]]
        self._actions += 1
        self._acting = True
        try:
            done = self._start(entry) if f == "start" else self._stop(entry)
            if healed := self._recovered():
                done["healed"] = healed
            return done
        finally:
            self._acting = False
            self._context.latest = math.inf

    def _be_punctual(self, entry: Entry, f: str) -> None:
        """Let no wait last longer than to the next action of another entry."""
        if not self._plan.punctual:
            return
        now = self._context.monotonic()
        due = entry.at if f == "start" else entry.end
        if self._began is None:
            self._began = now - due
        self._looking = (entry.id, due, now)
        self._context.latest = self._latest()

    def _latest(self) -> float:
        """When looking at the action under way ends, in a punctual plan."""
        number, due, since = self._looking
        others = [e for e in self._plan.entries if e.id != number]
        later = [t for e in others for t in (e.at, e.end) if t >= due]
        assert self._began is not None
        return max(since + LEAST_LOOK, self._began + min(later) if later else math.inf)

    @property
    def trigger_links(self) -> TriggerLinks:
        """The links, where they are simulated."""
        return self._context.trigger_links

    @property
    def client_machines(self) -> ClientMachines:
        """The clients' threads and clocks, where they are simulated."""
        return self._context.client_machines

    def replan(self, plan: FaultPlan) -> None:
        """Go on with another plan.

        Args:
            plan: a valid one, which has the same actions up to now.
        """
        self._plan = plan
        self._entries = {entry.id: entry for entry in plan.entries}
        self._named = {entry.targets.of for entry in plan.entries}
        if self._context.latest != math.inf:
            self._context.latest = self._latest()

    def _elsewhere(self, number: int) -> set[str]:
        """Targets of the other faults that are in force."""
        return {
            target
            for other, fault in self._open.items()
            if other not in (number, *self._recovering)
            for target in fault.targets
        }

    def _recovered(self) -> list[dict[str, Any]]:
        """Close the faults that are seen to be healed by now; what ``stop`` tells of each."""
        healed = []
        for number in sorted(self._recovering):
            self._context.troubled = self._elsewhere(number)
            finding = _told(partial(self._open[number].healed, 0.0), "could not be inspected")
            if _settled(finding):
                self._recovering.discard(number)
                healed.append(self._close(number, finding))
        self._context.troubled = ()
        return healed

    def _note_hit(self, fault: Fault[Any]) -> None:
        """Keep what a fault is about to hit, if a later entry needs that."""
        number, context = fault.entry.id, self._context
        if number not in self._named:
            return
        server_of = context.links.connected_to
        if isinstance(fault, ClientFault):
            servers = {node for client in fault.chosen if (node := server_of(client)) is not None}
            context.hits[number] = Hit(sorted(servers), list(fault.chosen))
        else:
            of_them = [c for c in range(context.clients.count) if server_of(c) in fault.targets]
            context.hits[number] = Hit(list(fault.targets), of_them)

    def outside(self) -> dict[str, str] | None:
        """Servers that do not run, though no fault of the plan is the cause: name -> why, in words.

        None if that cannot be known now: an action is under way, or the Docker engine fails.
        May be called from another thread.
        """
        before, ensemble = self._actions, self._context.ensemble
        if self._acting:
            return None
        ours = self._unhealed.union(*(fault.targets for fault in list(self._open.values())))
        try:
            states = {node: ensemble.state(node) for node in ensemble.nodes}
        except EnvironmentRefusal:
            return None
        if self._acting or self._actions != before:
            return None
        return {
            node: f"{node} is {state}, and no fault of the plan did that"
            for node, state in states.items()
            if state != "running" and node not in ours
        }

    def _start(self, entry: Entry) -> dict[str, Any]:
        fault = make_fault(entry, self._context, Random(f"{self._seed}:{entry.id}"))
        if self._hurried() or self._healing:
            return self._report(fault, Finding(False, "not started: the run is ending"))
        if entry.id in self._open or entry.id in self._closed:
            return self._report(fault, Finding(False, "not started: it was started before"))
        self._open[entry.id] = fault
        context = self._context

        def inject() -> Finding:
            self._be_punctual(entry, "start")
            fault.choose()
            self._note_hit(fault)
            fault.inject()
            fault.injected = context.monotonic()
            return fault.in_force()

        finding = _told(inject, "could not be injected")
        detail = f"{fault.reason}; {finding.detail}" if fault.reason else finding.detail
        return self._report(fault, Finding(finding.ok, detail))

    def _stop(self, entry: Entry) -> dict[str, Any]:
        fault = self._open.get(entry.id)
        if fault is None:
            return self._closed.get(entry.id) or self._report(
                make_fault(entry, self._context, Random(0)), Finding(False, "it is not in force")
            )
        if fault.injected is not None:
            end = fault.injected + entry.duration
            while not self._hurried() and (left := end - self._context.monotonic()) > 0:
                self._context.sleep(min(left, WAIT))

        def mend() -> Finding:
            self._context.troubled = self._elsewhere(entry.id)
            self._be_punctual(entry, "stop")
            fault.heal()
            return fault.healed(HEAL_BOUND)

        finding = _told(mend, "could not be healed")
        self._context.troubled = ()
        if not finding.ok and self._hurried():
            # It is still open: ``heal_all`` will heal it and wait longer.
            return self._report(fault, finding)
        if not _settled(finding) and self._context.latest < math.inf:
            self._recovering.add(entry.id)
            return {**self._report(fault, finding), "recovering": True}
        return self._close(entry.id, finding)

    def _close(self, number: int, finding: Finding) -> dict[str, Any]:
        fault = self._open.pop(number)
        if not finding.ok:
            self._unhealed.update(fault.targets)
        self._closed[number] = self._report(fault, finding)
        return self._closed[number]

    def _report(self, fault: Fault[Any], finding: Finding) -> dict[str, Any]:
        own = self._context.sessions
        return {
            "id": fault.entry.id,
            "kind": fault.kind,
            "targets": fault.targets,
            "verified": finding.ok,
            "detail": finding.detail,
            **({"sessions": list(own)} if own else {}),
            **fault.record(),
        }

    def close(self) -> None:
        """End the session that faults have had themselves, if any."""
        self._context.close()

    def heal_all(self) -> dict[str, Any]:
        """Mend everything that is broken, and verify it; no fault starts after this.

        Safe to call from another thread while an action is under way: that action is made to end
        early first. Everything is mended, then everything is verified, within ``HEAL_BOUND``.

        Returns:
            ``verified`` (all servers serve, all clients run and are connected, nothing is cut; a
            fault that had nothing to act on does not count),
            ``detail`` in words, and ``healed``: as from ``invoke`` for ``stop``, one for each
            fault that was in force, then one for each server or client (or the network) that was
            broken by something else, with kind ``stray`` and ``id`` None.
        """
        context = self._context
        self._ending = True
        deadline = context.monotonic() + ACTION_BOUND
        while self._acting and context.monotonic() < deadline:
            context.sleep(WAIT)
        self._healing = True
        failed = {
            number: trouble
            for number, fault in self._open.items()
            if (trouble := _trouble(fault.heal, "could not be healed"))
        }
        found = self._mend_strays()
        deadline = context.monotonic() + HEAL_BOUND
        told = []
        idle = 0
        self._recovering.clear()
        for number, fault in list(self._open.items()):
            left = max(0.0, deadline - context.monotonic())
            finding = _told(partial(fault.healed, left), "could not be seen to be healed")
            if number in failed:
                finding = Finding(finding.ok, f"{failed[number]}; then {finding.detail}")
            idle += isinstance(finding, NeverActed)
            told.append(self._close(number, finding))
        told += self._verify_rest(found, deadline)
        words = [f"{' '.join([t['kind'], *t['targets']])}: {t['detail']}" for t in told]
        return {
            "verified": sum(not t["verified"] for t in told) == idle,
            "detail": "; ".join(words) or "nothing was broken",
            "healed": told,
        }

    def _mend_strays(self) -> dict[str, list[str]]:
        """Mend whatever is still broken: name -> what was wrong, in words."""
        found: dict[str, list[str]] = {}

        def mend_each() -> None:
            for stray in strays(self._context):
                trouble = _trouble(stray.mend, "could not be mended")
                found.setdefault(stray.name, []).extend(w for w in (stray.words, trouble) if w)

        if trouble := _trouble(mend_each, "could not be inspected"):
            found["run"] = [trouble]
        return found

    def _verify_rest(self, found: dict[str, list[str]], deadline: float) -> list[dict[str, Any]]:
        """Verify that all servers serve, all clients connect, and nothing is broken any more."""
        context = self._context
        parts = {node: partial(servers_back, [node]) for node in context.ensemble.nodes}
        parts |= {f"c{c}": partial(clients_back, [c]) for c in range(context.clients.count)}
        findings = {}
        for name, back in parts.items():
            left = max(0.0, deadline - context.monotonic())
            findings[name] = _told(partial(back, context, left), "could not be inspected")
        for name in found.keys() - parts.keys():
            findings[name] = Finding(name != "run", "mended")

        def look_again() -> None:
            for stray in strays(context):
                findings[stray.name] = Finding(False, f"still so: {stray.words}")

        if trouble := _trouble(look_again, "could not be inspected"):
            findings["run"] = Finding(False, trouble)
        return [
            {
                "id": None,
                "kind": "stray",
                "targets": [name],
                "verified": finding.ok,
                "detail": "; ".join([*found.get(name, ()), finding.detail]),
            }
            for name, finding in findings.items()
            if name in found or not finding.ok
        ]


def _settled(finding: Finding) -> bool:
    """Whether a later look at a fault that was healed would find nothing else."""
    return finding.ok or isinstance(finding, NeverActed)


def _told(action: Callable[[], Finding], failure: str) -> Finding:
    """What an action returns; if it raises, a finding that says how it failed."""
    try:
        return action()
    except Exception as error:
        log.warning("a fault %s", failure, exc_info=True)
        return Finding(False, f"{failure}: {error or type(error).__name__}")


def _trouble(action: Callable[[], None], failure: str) -> str | None:
    """How an action failed; None if it did not."""
    try:
        action()
    except Exception as error:
        log.warning("a fault %s", failure, exc_info=True)
        return f"{failure}: {error or type(error).__name__}"
    return None
