"""Two-phase commits with one known mistake each, which the harness must find."""

from dataclasses import replace
from functools import cached_property
from threading import TIMEOUT_MAX

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

from rumpus.recipes.mistake import made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.two_phase_commit.transaction_nodes import (
    AT_WORK,
    COORDINATOR,
    DECISION,
    CoordinatedCommit,
    Decision,
    Parties,
    PeerCommit,
    Progress,
    Proposal,
    VotedAlready,
)

SITE = "site-"


class PiecemealCommit(PeerCommit):
    def _create_transaction(
        self, call: RetryingCall, node: str, data: bytes, parties: Parties
    ) -> None:
        made(node)
        call.write(self._client.create_async, node, data)
        for site in parties.participants:
            call.write(self._client.create_async, f"{node}/{SITE}{site}")

    def _told(self, call: RetryingCall, transaction: str) -> Parties:
        children = call.read(self._client.get_children_async, self._node(transaction))
        sites = [child.removeprefix(SITE) for child in children if child.startswith(SITE)]
        told = super()._told(call, transaction)
        if set(sites) != set(told.participants):
            self._incomplete.add(transaction)
        return replace(told, participants=sites)

    @cached_property
    def _incomplete(self) -> set[str]:
        return set()

    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        if progress.transaction in self._incomplete and proposal.decision == "commit":
            made(self._node(progress.transaction))
        return super()._conclude(call, progress, proposal)


class OneByOneCommit(CoordinatedCommit):
    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        assert progress.parties is not None
        made(self._node(progress.transaction))
        for site in dict.fromkeys([*progress.parties.participants, self._name]):
            node = f"{self._node(progress.transaction)}/{DECISION}-{site}"
            try:
                call.write(self._client.create_async, node, proposal.decision.encode())
            except NodeExistsError:
                continue
        return None

    def _decision_node(self, transaction: str) -> str:
        return f"{super()._decision_node(transaction)}-{self._name}"


class AbortsAloneCommit(PeerCommit):
    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        if proposal.absent is not None:
            made(self._node(progress.transaction))
            return proposal.decision
        return super()._conclude(call, progress, proposal)


class WaitsForCoordinatorCommit(CoordinatedCommit):
    def _stands_by(self, call: RetryingCall, progress: Progress, parties: Parties) -> bool:
        if parties.coordinator == self._name:
            return False
        made(self._node(progress.transaction), lasting=True)
        progress.patience = Deadline(None)  # else it would ask without a pause once that is over
        return True


class NeedsPresenceCommit(PeerCommit):
    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        assert progress.parties is not None
        node = self._node(progress.transaction)
        children = call.read(self._client.get_children_async, node)
        present = all(AT_WORK + site in children for site in progress.parties.participants)
        if not present and proposal.decision == "commit":
            made(node)
        kept = proposal if present else replace(proposal, decision="abort")
        return super()._conclude(call, progress, kept)


class OverwritesCommit(PeerCommit):
    def __init__(self, client: KazooClient, path: str, *, name: str, grace: float = 2.0) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self._waiting: set[str] = set()

    def _create_transaction(
        self, call: RetryingCall, node: str, data: bytes, parties: Parties
    ) -> None:
        multi = self._client.transaction()
        multi.create(node, data)
        multi.create(f"{node}/{COORDINATOR}", ephemeral=True)
        multi.create(f"{node}/{DECISION}", b"none yet")
        call.commit(multi, node)

    def decide(
        self, transaction: str, timeout: float | None = None, *, patience: float = 5.0
    ) -> Decision | None:
        self._waiting.discard(transaction)
        return super().decide(transaction, timeout, patience=patience)

    def _read_decision(
        self, call: RetryingCall, transaction: str, *, watch: bool = False
    ) -> Decision | None:
        if transaction in self._waiting:
            return None
        self._waiting.add(transaction)
        return super()._read_decision(call, transaction, watch=watch)

    def _conclude(
        self, call: RetryingCall, progress: Progress, proposal: Proposal
    ) -> Decision | None:
        node = self._decision_node(progress.transaction)
        stat = call.write(self._client.set_async, node, proposal.decision.encode())
        if stat.version > 1:  # it was written before
            made(self._node(progress.transaction))
        return proposal.decision


class ExistsIsMineCommit(PeerCommit):
    def vote(self, transaction: str, ballot: bool, timeout: float | None = None) -> None:
        try:
            super().vote(transaction, ballot, timeout)
        except VotedAlready:
            made(self._node(transaction))


class IgnoresTimeoutCommit(PeerCommit):
    def decide(
        self, transaction: str, timeout: float | None = None, *, patience: float = 5.0
    ) -> Decision | None:
        made(self._node(transaction))
        return super().decide(transaction, None, patience=TIMEOUT_MAX)
