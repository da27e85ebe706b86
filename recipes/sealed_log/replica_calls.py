"""One question to all replicas of a store at once, until enough of them have answered."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from kazoo.exceptions import ConnectionClosedError

from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address, Message, NoAnswer, Unheard, ask_once
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.sealed_log.log_directory import LogDirectory

ANSWER_S: Final = 0.5
"""Seconds that a replica's answer may take before the replica is asked again."""

LOOK_S: Final = 0.2
"""Seconds to wait for ZooKeeper's answer before the last known address is tried again."""

Answers = dict[str, Message]
"""Replica -> its last answer."""


class ReplicaCalls:
    """A caller of all replicas.

    Args:
        name: what the caller is called.
        replicas: the replicas' names.
        directory: where their addresses are found. They are read again when one does not answer;
            a caller that is cut off from ZooKeeper goes on with those that it knows.
    """

    def __init__(self, name: str, replicas: tuple[str, ...], directory: LogDirectory) -> None:
        self._name = name
        self.replicas = replicas
        self._directory = directory
        self._addresses: dict[str, Address] = {}
        self.majority = len(replicas) // 2 + 1

    def ask(
        self,
        question: Callable[[str], Message],
        is_last: Callable[[str, Message], bool],
        deadline: Deadline,
        enough: Callable[[Mapping[str, Message]], bool] | None = None,
    ) -> Answers:
        """Ask every replica, each on a thread of its own, until enough have given a last answer.

        A replica that has not given one when this returns still gets the question, once at most.

        Args:
            question: makes the question to a replica, anew for each try.
            is_last: takes a replica's answer; False: the replica is to be asked again.
            deadline: for all answers together.
            enough: whether these last answers are enough; a majority of the replicas if not given.

        Returns:
            The last answers so far: all that can be relied on.
        """
        given: Answers = {}
        news = threading.Condition()
        over = threading.Event()

        def one(replica: str) -> None:
            while not over.is_set() and not deadline.passed:
                told = {**question(replica), "from": self._name, "to": replica}
                answer = self._ask_once(replica, told, deadline)
                with news:
                    if answer is not None and not over.is_set() and is_last(replica, answer):
                        given[replica] = answer
                        news.notify_all()
                        return
                over.wait(min(PAUSE, deadline.left() or 0.0))

        for replica in self.replicas:
            threading.Thread(
                target=one, args=(replica,), name=f"ask {replica}", daemon=True
            ).start()
        with news:
            news.wait_for(
                lambda: (
                    len(given) == len(self.replicas)
                    or (len(given) >= self.majority if enough is None else enough(given))
                ),
                deadline.left(),
            )
            over.set()
            return dict(given)

    def _ask_once(self, replica: str, told: Message, deadline: Deadline) -> Message | None:
        """A replica's answer to one question; None if it does not answer at its last address."""
        address = self._addresses.get(replica)
        if address is not None:
            with suppress(Unheard, NoAnswer):
                answer = ask_once(address, told, min(ANSWER_S, deadline.left() or 0.0))
                if answer["is"] != "somebody-else":
                    return answer
        with suppress(Unanswered, ConnectionClosedError):
            left = min(LOOK_S, deadline.left() or 0.0)
            self._addresses.update(self._directory.replicas(Deadline(left)))
        return None
