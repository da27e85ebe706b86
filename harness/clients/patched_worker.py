"""The process of a client on gevent or eventlet: ``... patched_worker FD HANDLER``.

It is ``worker``, but for the standard library, which is patched before anything else is imported.
"""

import runpy
import sys

from rumpus.harness.clients.handlers import patch

if __name__ == "__main__":
    patch(sys.argv.pop())
    runpy.run_module("rumpus.harness.clients.worker", run_name="__main__", alter_sys=True)
