"""What is wrong with a transaction, by the tree before it and the request for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rumpus.checker.history import session_hex
from rumpus.checker.servers.server_truth import touched
from rumpus.checker.servers.txnlog import OPEN_ACL, Txn
from rumpus.checker.wire.access import OPEN_SUM
from rumpus.checker.wire.matching import Conversations
from rumpus.checker.wire.model_tree import ModelTree, is_servers_own, parent_of
from rumpus.checker.wire.reads import differing
from rumpus.checker.wire.records import Part, Request, sum_of
from rumpus.checker.wire.rules import DECIDED, EPHEMERAL, ERRORS, OK, Expected, expected

CONTAINER_FLAGS = 4
"""The flags with which a container is asked for, in a multi, too."""

LAG_NS = 2_000_000_000
"""After what time a transaction of which no answer is known was surely carried out (ns)."""

SLACK_NS = 100_000_000
"""How much later than a server answers its leader may carry a transaction out (ns)."""


@dataclass
class Ground:
    """What writes are judged by.

    Attributes:
        tree: after all transactions before.
        talk: what passed on the links.
        clock: when a transaction was proposed, on the run's clock (ns).
        contested: znodes of which it is not sure what happened to them; they are not judged.
        writes: how many transactions had their requests on the wire.
        undecided: of how many of these the tree did not tell what must come of them: by lists of
            rights that are not known or just changing, or by logs that differ.
    """

    tree: ModelTree
    talk: Conversations
    clock: Callable[[Txn], int]
    contested: frozenset[str]
    writes: int = 0
    undecided: int = 0


def judged(txn: Txn, request: Request | None, found: Ground) -> Iterator[tuple[str, str]]:
    """What is wrong with a transaction: kind and words. It is applied to the tree."""
    tree = found.tree
    ended = tree.ended.get(txn.session)
    parts = [] if request is None else (request.parts or [request])
    unsure = bool(found.contested) and any(
        path in found.contested or parent_of(path) in found.contested
        for path in (*(part.path for part in parts), *touched(txn.effects))
    )
    must = None
    if request is not None and not unsure:
        must = expected(tree, parts, found.talk.identities_of(request), request.sent)
    # What becomes of a reconfig is decided by settings, and of the servers' own by themselves.
    if request is not None and request.name != "reconfig" and not is_servers_own(request.path):
        found.writes += 1
        found.undecided += must is None
    broken = tree.apply(txn)
    _settle(txn, request, found)
    if unsure:
        return
    if txn.name == "closeSession":
        yield from (("lingering-ephemeral", f"{_who(txn)}: {words}") for words in broken)
        return
    if ended is not None and txn.effects and txn.name != "createSession":
        yield (
            "revived-session",
            f"{_who(txn)} made a change at 0x{txn.zxid:x}, after its end at 0x{ended:x}",
        )
    wrong = []
    if request is not None and must is not None:
        wrong = list(_against_request(txn, request, must, found))
        yield from wrong
    if not wrong:
        yield from (("illegal-change", words) for words in broken)


def _settle(txn: Txn, request: Request | None, found: Ground) -> None:
    """Say of a transaction that it was carried out before later requests came, if that is sure."""
    if not found.tree.relisted:
        return
    paths = touched(txn.effects)
    logged = found.clock(txn)
    sent = done = logged + LAG_NS
    if request is not None:
        sent = request.sent
        done = done if request.answered is None else request.answered + SLACK_NS
    found.tree.settle(paths | {parent_of(path) for path in paths}, min(sent, logged), done)


def _against_request(
    txn: Txn, request: Request, must: Expected, found: Ground
) -> Iterator[tuple[str, str]]:
    """Where a transaction, or its answer, is not what the request must lead to."""
    outcome = _outcome(txn, request)
    if outcome is None:
        return
    error, number = outcome
    who = found.talk.who(request.client)
    part = (request.parts or [request])[number]
    if error in DECIDED and (error, number) != (must.error, must.part):
        kind = "illegal-change" if error == OK else "wrong-answer"
        due = (request.parts or [request])[must.part]
        it_must = (
            f"must get {ERRORS[must.error]}{_of_part(request, must.part, due)}"
            if must.error
            else "must be done"
        )
        got = f"got {ERRORS[error]}{_of_part(request, number, part)}" if error else "was done"
        yield kind, f"{asked(request)} of {who} {got}, and {it_must}"
        return
    told = request.error
    if request.answered is not None and told != error and txn.name != "multi":
        words = f"{asked(request)} of {who} was answered with {_name(told)}"
        yield "wrong-answer", f"{words}, and got {_name(error)} in the servers' logs"
        return
    if error == OK:
        yield from _against_change(txn, request, must, found)


def _outcome(txn: Txn, request: Request) -> tuple[int, int] | None:
    """What became of a write: its error, and the part that got it; None if that is not known.

    Servers log the parts of a refused multi in different ways, so its answer must tell.
    """
    if txn.name != "multi":
        return (txn.error or 0 if txn.name == "error" else OK), 0
    if not txn.refused_multi:
        return OK, 0
    for number, part in enumerate(request.parts):
        if part.error:
            return part.error, number
    return None


def _against_change(
    txn: Txn, request: Request, must: Expected, found: Ground
) -> Iterator[tuple[str, str]]:
    """Where a change that had to be done is not the one asked for, or is answered wrongly."""
    parts, who = request.parts or [request], found.talk.who(request.client)
    for number, (part, effect) in enumerate(zip(parts, txn.effects, strict=False)):
        path = must.made.get(number, part.path)
        if effect.path != path:
            yield (
                "illegal-change",
                f"{asked(part)} of {who} made {effect.path}, and must make {path}",
            )
        elif words := _other_than_asked(part, effect):
            yield "illegal-change", f"{asked(part)} of {who}: {words}"
        elif part.data is not None and sum_of(effect.data) != part.data:
            yield (
                "illegal-change",
                f"{asked(part)} of {who}: other data were stored than sent",
            )
        if part.made and part.made != effect.path:
            yield (
                "wrong-answer",
                f"{who} was told that it made {part.made}, and it is {effect.path}",
            )
    if request.answered is None:
        return
    if request.stat is not None and txn.path is not None:
        view = found.tree.view(txn.path)
        if view is not None and (words := differing(request.stat, view.stat)):
            yield "wrong-answer", f"{asked(request)} of {who} was told {words}"


def _other_than_asked(part: Part, effect: Txn) -> str:
    """Whose a new znode is, or which list it has, if that is not what was asked for, in words."""
    if part.name in ("create", "create2") and effect.ephemeral != (part.flags in EPHEMERAL):
        return f"the znode is {'' if effect.ephemeral else 'not '}ephemeral"
    container = part.name == "create-container" and part.flags == CONTAINER_FLAGS
    if container and effect.name != "createContainer":
        return "the znode is no container"
    if part.acl == OPEN_SUM and effect.acl not in (None, OPEN_ACL):
        return "everybody was to have all rights, and has not"
    return ""


def asked(part: Part) -> str:
    """A request in words."""
    if isinstance(part, Request) and part.parts:
        return f"a {part.name} of {len(part.parts)} ({', '.join(map(asked, part.parts[:3]))} ...)"
    version = "" if part.version in (None, -1) else f" at version {part.version}"
    return f"{part.name} {part.path}{version}"


def _name(error: int | None) -> str:
    return ERRORS.get(error or 0, f"error {error}")


def _of_part(request: Request, number: int, part: Part) -> str:
    return f" for its part {number + 1}, {asked(part)}" if request.parts else ""


def _who(txn: Txn) -> str:
    return f"session {session_hex(txn.session)}"
