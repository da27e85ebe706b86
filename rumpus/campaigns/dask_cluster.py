"""Runs on a Dask cluster: its scheduler passes them to its workers, and again if one dies."""

import importlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rumpus.campaigns.run_process import ProcessEndedError
from rumpus.campaigns.tasks import Origin, Performers, call_apart, origin
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import NotFound, referred

PATIENCE_S: Final = 10.0
"""How long to wait for the scheduler, and for its first worker."""

CHECK_S: Final = 120.0
"""How long the workers may take to say what they have; they import rumpus for that."""


@contextmanager
def cluster(address: str, references: Sequence[str] = ()) -> Iterator[Performers]:
    """A cluster, while the block runs; its workers are asked first whether they can do it.

    Args:
        address: of its scheduler, such as ``tcp://10.0.0.1:8786``.
        references: what is to be put on trial, ``package.module:Name``.

    Raises:
        UsageError: the address is none.
        EnvironmentRefusal: the scheduler does not answer, it has no workers, Dask is not installed,
            or a worker lacks something.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        raise EnvironmentRefusal(
            "--dask needs the package distributed: pip install 'rumpus[dask]'"
        ) from error
    for name in ("distributed", "distributed.client"):
        # What these say of a lost connection is said by errors.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _connected(distributed, address) as client:
        threads = client.nthreads()
        _check(distributed, client, threads, references)
        executor = client.get_executor(pure=False)
        try:
            yield Performers(executor, sum(threads.values()))
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """A client of a scheduler that has workers."""
    start = "start one with `dask scheduler`, and workers with `dask worker ADDRESS`"
    try:
        distributed.comm.get_address_host_port(address, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions: they are compared below
            client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    except ValueError as error:
        raise UsageError(
            f"--dask {address}: not the address of a scheduler, such as tcp://10.0.0.1:8786: "
            f"{error}"
        ) from error
    except OSError as error:
        raise EnvironmentRefusal(f"--dask {address}: no scheduler answers; {start}") from error
    try:
        try:
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except TimeoutError as error:
            raise EnvironmentRefusal(
                f"--dask {address}: the scheduler has no workers; start some with "
                f"`dask worker {address}`"
            ) from error
        yield client
    finally:
        client.close(timeout=PATIENCE_S)


def _check(
    distributed: Any, client: Any, workers: Sequence[str], references: Sequence[str]
) -> None:
    """Ask each worker whether it has the same software, and what is put on trial.

    Raises:
        EnvironmentRefusal: it has not.
    """
    asked = {
        worker: client.submit(
            lacks, origin(), tuple(references), workers=[worker], pure=False, retries=0
        )
        for worker in workers
    }
    for worker, future in asked.items():
        try:
            lacking = future.result(timeout=CHECK_S)
        except (TimeoutError, distributed.TimeoutError) as error:
            raise EnvironmentRefusal(f"the worker {worker} does not answer") from error
        except Exception as error:
            raise EnvironmentRefusal(
                f"the worker {worker}, or the scheduler, cannot load rumpus: {error}; they need "
                "the environment that this command has"
            ) from error
        if lacking:
            raise EnvironmentRefusal(f"the worker {worker} {lacking}")


def lacks(origin: Origin, references: Sequence[str]) -> str:
    """What a worker lacks, in words, as "has python 3.12.1 instead of 3.11.7"; empty if nothing."""
    if other := origin.other_software():
        return f"has {other}"
    try:
        return call_apart(origin.surroundings, not_found, references)
    except (ProcessEndedError, EnvironmentRefusal) as error:
        return f"cannot start a process: {error}"


def not_found(references: Sequence[str]) -> str:
    """Which of the references cannot be found, in words; empty if there is none."""
    for reference in references:
        try:
            referred(reference)
        except NotFound as error:
            return f"does not find {reference}: {error}"
    return ""
