"""Two-phase commits with one known mistake each, which the harness must find."""

from dataclasses import replace
from typing import ClassVar

from kazoo.exceptions import NodeExistsError

from recipes.errand import Errand
from recipes.two_phase_commit import (
    COORDINATOR,
    DECISION,
    CoordinatedCommit,
    Decision,
    Parties,
    PeerCommit,
    _Call,
)

SITE = "site-"


class PiecemealCommit(PeerCommit):
    """A child for each site, created one after another; the sites are those that are there."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the coordinator creates the transaction and one node a site in requests of their own, "
        "and sites decide when every site that has a node has voted: a coordinator that dies "
        "half-way leaves a transaction that commits without the rest"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"invalid-commit"})

    def _create_transaction(self, errand: Errand, node: str, data: bytes, parties: Parties) -> None:
        errand.write(self._client.create_async, node, data)
        for site in parties.participants:
            errand.write(self._client.create_async, f"{node}/{SITE}{site}")

    def _told(self, errand: Errand, transaction: str) -> Parties:
        children = errand.read(self._client.get_children_async, self._node(transaction))
        sites = [child.removeprefix(SITE) for child in children if child.startswith(SITE)]
        return replace(super()._told(errand, transaction), participants=sites)


class OneByOneCommit(CoordinatedCommit):
    """A decision for each participant, written one after another."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "whoever decides writes the outcome to one participant after another: if it dies between "
        "them, the rest decide anew, by votes that have come since"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"two-decisions"})

    def _conclude(
        self,
        errand: Errand,
        call: _Call,
        decision: Decision,
        *,
        absent: str | None = None,  # noqa: ARG002 - the base's
    ) -> Decision | None:
        assert call.parties is not None
        for site in dict.fromkeys([*call.parties.participants, self._name]):
            node = f"{self._node(call.transaction)}/{DECISION}-{site}"
            try:
                errand.write(self._client.create_async, node, decision.encode())
            except NodeExistsError:
                continue
        return None

    def _decision_node(self, transaction: str) -> str:
        return f"{super()._decision_node(transaction)}-{self._name}"


class AbortsAloneCommit(PeerCommit):
    """A participant that has waited long enough aborts, and tells nobody."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a participant whose patience is over takes the transaction for aborted without writing "
        "that anywhere, while others commit when the missing vote comes"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"two-decisions"})

    def _conclude(
        self, errand: Errand, call: _Call, decision: Decision, *, absent: str | None = None
    ) -> Decision | None:
        if absent is not None:
            return decision
        return super()._conclude(errand, call, decision)


class OverwritesCommit(PeerCommit):
    """The decision is data that is set, whatever stands there."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the decision is written by setData without a version: who decides a moment later, by a "
        "vote that has come in between, overwrites what others have read already"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"two-decisions"})

    def _create_transaction(
        self,
        errand: Errand,
        node: str,
        data: bytes,
        parties: Parties,  # noqa: ARG002 - the base's
    ) -> None:
        multi = self._client.transaction()
        multi.create(node, data)
        multi.create(f"{node}/{COORDINATOR}", ephemeral=True)
        multi.create(f"{node}/{DECISION}", b"none yet")
        errand.commit(multi, node)

    def _conclude(
        self,
        errand: Errand,
        call: _Call,
        decision: Decision,
        *,
        absent: str | None = None,  # noqa: ARG002 - the base's
    ) -> Decision | None:
        node = self._decision_node(call.transaction)
        errand.write(self._client.set_async, node, decision.encode())
        return decision
