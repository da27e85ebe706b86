"""Transactions in one session: all of their parts are carried out, or none is."""

from typing import Any

from kazoo.client import TransactionRequest
from kazoo.exceptions import KazooException, RolledBackError, RuntimeInconsistency

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


def commit(
    session: Session, deadline: Deadline, transaction: TransactionRequest, about: str
) -> list[Any]:
    """Commit a transaction; the answers of its parts, in order: errors, if it was refused.

    Args:
        session: the session in which to commit.
        deadline: for the answer.
        transaction: the transaction, complete.
        about: what the transaction is about, for error messages.

    Raises:
        SessionExpiredError, Unanswered: as ``Session.ask``.
    """

    def transact(_about: str) -> Any:
        return transaction.commit_async()

    answers: list[Any] = session.ask(deadline, transact, about)
    return answers


def raise_refusal(answers: list[Any]) -> None:
    """Raise the error of the part for which a transaction was refused, if it was.

    Raises:
        KazooException: that part's error. (The other parts' errors only say "rolled back".)
    """
    for answer in answers:
        innocent = isinstance(answer, RolledBackError | RuntimeInconsistency)
        if isinstance(answer, KazooException) and not innocent:
            raise answer
