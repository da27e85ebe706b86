"""``python -m rumpus.harness.clients.library_probe``: what a client of this environment loads.

Standard input has, as JSON, what clients run: ``[build, options, handler]``
(``workers.ClientSpec``). The
last line of standard output is a ``library.Answer``, as JSON.
"""

import importlib
import os
import sys

import msgspec

from rumpus.harness.clients.handlers import make_handler, patch
from rumpus.harness.clients.library import Answer


def probe(build: str, options: dict[str, object], handler: str) -> Answer:
    """Import kazoo, its handler, and what a client runs, as ``worker`` does."""
    step, remedy = "this kazoo", "name another version of kazoo, or use another one of Python"
    try:
        patch(handler)
        importlib.import_module("kazoo.client")
        version = importlib.import_module("kazoo.version").__version__
        step, remedy = f"what runs with kazoo {version}", "name another version, or another recipe"
        make_handler(handler)
        importlib.import_module("rumpus.harness.clients.client_body")
        module, _, name = build.partition(":")
        made = getattr(importlib.import_module(module), name)
        getattr(made, "builder", made)(**options)
    except (Exception, SystemExit) as error:  # whatever is wrong with it is the answer
        name = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        if name and name.partition(".")[0] != "kazoo":
            remedy = f"install {name} where rumpus is installed"
        return Answer(step=step, error=f"{type(error).__name__}: {error}", remedy=remedy)
    return Answer(version=version)


def main() -> None:
    """Answer, and end at once whatever threads the imported modules have."""
    build, options, handler = msgspec.json.decode(sys.stdin.buffer.read())
    answer = msgspec.json.encode(probe(build, options, handler))
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\n" + answer)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
