"""A workload's client without servers, for tests and benchmarks of the harness itself."""

import os
import time
from pathlib import Path

from rumpus.harness.clients.client_body import Outcome


class ScriptedClient:
    """Its operations do what their names say."""

    grants = "acquire"
    ends = "release"

    def __init__(self, context):
        self._context = context
        self._held = False

    def believes(self):
        return self._held

    def close(self):
        """Nothing goes on in the background."""

    def invoke(self, f, value):
        if f == "sleep":
            time.sleep(value)
        elif f == "raise":
            raise RuntimeError(value)
        elif f == "unsure":
            return Outcome("info", error="no answer")
        elif f == "fork":
            self._fork(Path(value))
        elif f == "crash":
            os._exit(3)
        elif f == "act":
            return Outcome("ok" if self._context.act(value).accepted else "fail", value)
        elif f == "refuse-session":
            self._context.refuse(value, "lasting")
        elif f == "acquire":
            self._held = True
        elif f == "release":
            self._held = False
        elif f == "lose":
            self._held = False
            return Outcome("fail", error="lost")
        return Outcome("ok", value)

    def _fork(self, pids):
        """One copy goes on as this process does, another one sleeps."""
        for sleeps in (False, True):
            if pid := os.fork():
                with pids.open("a") as file:
                    print(pid, file=file)
            elif sleeps:
                time.sleep(600)
            else:
                break


def build(**_options):
    return ScriptedClient
