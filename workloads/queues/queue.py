"""Queues: clients put elements and take them, first in, first out. See ``queueing``."""

from collections.abc import Callable

from rumpus.checker.deciders.queues.fifo_queue import FIFO_QUEUE
from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.queue.catalogue import QUEUES
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.queues.queue_judgement import judge_queue
from rumpus.workloads.queues.queueing import WORDS, QueueClient, final, load


def client(recipe: str, path: str) -> Callable[[ClientContext], QueueClient]:
    """Makes the client's side for one recipe."""
    kind = QUEUES[recipe].recipe
    return lambda context: QueueClient(context, kind, path)


QUEUE = Workload(
    name="queue",
    summary="clients put elements into a queue and take them out, some by claim",
    catalogue=QUEUES,
    path="/rumpus/queue",
    build="rumpus.workloads.queues.queue:client",
    model=FIFO_QUEUE.name,
    words=WORDS,
    load=lambda setting: load(setting, priorities=False),
    final=lambda setting: final(setting, priorities=False),
    cleanup={},
    judge=lambda evidence: judge_queue(evidence, FIFO_QUEUE),
    requests=("write", "create", "get-children"),
)
