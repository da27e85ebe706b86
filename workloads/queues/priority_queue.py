"""Priority queues: as queues, but the most urgent first. See ``workloads.queues.queueing``."""

from collections.abc import Callable

from rumpus.checker.deciders.queues.priority_queue import PRIORITY_QUEUE as MODEL
from rumpus.harness.clients.client_body import ClientContext
from rumpus.recipes.queue.catalogue import PRIORITY_QUEUES
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.queues.queue_judgement import judge_queue
from rumpus.workloads.queues.queueing import WORDS, QueueClient, final, load


def client(recipe: str, path: str) -> Callable[[ClientContext], QueueClient]:
    """Makes the client's side for one recipe."""
    kind = PRIORITY_QUEUES[recipe].recipe
    return lambda context: QueueClient(context, kind, path)


PRIORITY_QUEUE = Workload(
    name="priority-queue",
    summary="clients put elements of several priorities into a queue and take them out",
    catalogue=PRIORITY_QUEUES,
    path="/rumpus/priority-queue",
    build="rumpus.workloads.queues.priority_queue:client",
    model=MODEL.name,
    words=WORDS,
    load=lambda setting: load(setting, priorities=True),
    final=lambda setting: final(setting, priorities=True),
    cleanup={},
    judge=lambda evidence: judge_queue(evidence, MODEL),
    requests=("write", "create", "get-children"),
)
