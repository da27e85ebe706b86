"""``rumpus sim-server``: simulated ZooKeeper servers that real clients can talk to."""

import argparse
import os
from contextlib import ExitStack

from rumpus.consoles import answers, notices
from rumpus.testing.control_server import control_server
from rumpus.testing.simulated_servers import simulated_servers
from rumpus.testing.zookeeper import ZooKeeper
from rumpus.usage_error import UsageError

HIGHEST_PORT = 65535
FROM_ENVIRONMENT = "RUMPUS_CONTROL_TOKEN"
"""The environment variable that has the control port's token, for those who want to choose it."""


def sim_server_command(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; the connection string is printed once all servers serve.

    With ``--control`` a second line has the address of the faults' HTTP server, with its token.

    Raises:
        UsageError: the last server's port would be above `HIGHEST_PORT`.
        EnvironmentRefusal: a port cannot be opened.
    """
    count = arguments.nodes + arguments.observers
    first = arguments.port
    if first + count - 1 > HIGHEST_PORT:
        raise UsageError(
            f"{count} ports from {first} on would end above {HIGHEST_PORT}; choose a lower --port"
        )
    with ExitStack() as stack:
        servers = stack.enter_context(
            simulated_servers(
                nodes=arguments.nodes,
                observers=arguments.observers,
                tick=arguments.tick,
                seed=arguments.seed,
                ports=[first and first + number for number in range(count)],
            )
        )
        lines = [ZooKeeper(servers).hosts]
        if arguments.control is not None:
            token = os.environ.get(FROM_ENVIRONMENT, "")
            address = control_server(ZooKeeper(servers), arguments.control, token)
            lines.append(stack.enter_context(address))
        for line in lines:
            answers().print(line, markup=False, highlight=False, soft_wrap=True)
        try:
            notices().print("Ctrl-C ends it", highlight=False)
            servers.await_end()
        except KeyboardInterrupt:
            notices().print("ended", highlight=False)
    return 0
