"""Hooks of asynchronous generators for each task, as Python has them for each real thread.

An event loop sets them (``sys.set_asyncgen_hooks``) to close generators that nobody finishes.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rumpus.simulation.kernel.process import World
from rumpus.simulation.loader.runtime import AsyncGeneratorHooks, Runtime, runtime_of


@contextmanager
def hooks_of_tasks(world: World) -> Iterator[None]:
    """While the block runs a world, have its tasks' hooks called in place of the real thread's."""
    before = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(lambda made: _first(world, made), lambda left: _last(world, left))
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(*before)


def _first(world: World, generator: Any) -> None:
    runtime = _runtime_of(generator)
    if runtime is not None:
        hook = runtime.generator_hooks.get(world.current, AsyncGeneratorHooks()).firstiter
        if hook is not None:
            hook(generator)


def _last(world: World, generator: Any) -> None:
    runtime = _runtime_of(generator)
    if runtime is None or runtime.process.dead:
        return
    hooks = runtime.generator_hooks
    # It may be another thread that drops it; then it belongs to one of the process's loops.
    own = hooks.get(world.current) or next(iter(hooks.values()), AsyncGeneratorHooks())
    if own.finalizer is not None:
        own.finalizer(generator)


def _runtime_of(generator: Any) -> Runtime | None:
    """The runtime of the private module that a generator's code is of; None: it is shared."""
    frame = generator.ag_frame
    return None if frame is None else runtime_of(frame)
