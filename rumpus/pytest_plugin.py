"""The pytest plugin: the fixtures ``rumpus`` and ``zookeeper``, their markers, short failures.

A test::

    def test_my_lock(rumpus):
        rumpus.run("lock", recipe=MyLock, nemesis=["client-pause", "partition"]).assert_valid()

    def test_my_service(zookeeper):
        service = start(zookeeper.hosts)
        zookeeper.expire(service.client)
        assert service.has_registered_again()

Files named ``*.case.json`` are tests, too: a case passes if its failure is not there any more. One
that says ``"known": true`` is expected to fail.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import pytest

OPTIONS = ("ensemble", "seeds", "seed", "time-limit", "kazoo", "runs")

_BUDGET = "--rumpus-budget"

HAZARD = "rumpus_hazard"
"""The property of a test for what a trial's verdict does not count, a line each."""

_UNCAPTURED = pytest.StashKey[TextIO]()
"""Standard output as it was before pytest captured it; in one of xdist's workers standard error."""

SAY_ALL = frozenset(
    {
        "rumpus.harness.ensemble.EnvironmentRefusal",
        "rumpus.harness.run_limits.RunTooLong",
        "rumpus.nemesis.entry.PlanError",
        "rumpus.results.store_error.StoreError",
        "rumpus.trial_failed.TrialFailed",
        "rumpus.usage_error.UsageError",
    }
)
"""Exceptions whose message is all that a user needs. Names, as their modules are slow to import."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--rumpus-...``."""
    group = parser.getgroup("rumpus", "trials of coordination recipes (rumpus)")
    group.addoption(
        "--rumpus-ensemble",
        choices=("sim", "docker", "auto"),
        help="where the servers of trials and of the fixture `zookeeper` run: simulated, or real "
        "ones in Docker (default: sim)",
    )
    for name, metavar, words in (
        ("seeds", "N", "runs of each trial, instead of its own number"),
        ("seed", "SEED", "seed of the first run of each trial"),
        ("time-limit", "S", "seconds of load of each run"),
    ):
        kind = _as_declared(name.replace("-", "_"))
        group.addoption(f"--rumpus-{name}", type=kind, metavar=metavar, help=words)
    group.addoption(
        "--rumpus-kazoo",
        metavar="VERSION|PATH",
        help="kazoo that the clients of trials run with, a version or a directory (default: the "
        "installed one)",
    )
    group.addoption(
        _BUDGET,
        type=_seconds,
        metavar="S",
        help="seconds of processor time that a case's simulated run may take (default: 120)",
    )
    group.addoption(
        "--rumpus-runs", metavar="DIR", help="where failed runs are kept (default: runs)"
    )


def _as_declared(name: str) -> Callable[[str], Any]:
    """A reader of an option's text, with the range and the errors that ``rumpus run`` has."""

    def read(text: str) -> Any:
        from rumpus.argument_types import argument  # noqa: PLC0415 - few give the option
        from rumpus.runs.run_options import TRIAL_OPTIONS  # noqa: PLC0415 - slow to import

        return argument(TRIAL_OPTIONS[name].option.values.read)(text)

    return read


def _seconds(text: str) -> float:
    """A reader of the budget's text, as ``rumpus replay`` reads it."""
    from rumpus.argument_types import seconds  # noqa: PLC0415 - few give the option

    return seconds()(text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and keep the output, which is captured while tests run."""
    if config.get_verbosity() >= 0:
        # The standard output of xdist's workers is where they speak to pytest.
        number = 2 if hasattr(config, "workerinput") else 1
        stream = os.fdopen(os.dup(number), "w", encoding="utf-8", errors="replace")
        config.stash[_UNCAPTURED] = stream
        config.add_cleanup(stream.close)
    config.addinivalue_line(
        "markers",
        "zookeeper(**options): options of `rumpus.zookeeper` in this test, nodes=5 for example",
    )
    config.addinivalue_line(
        "markers",
        "rumpus(**options): default options of `rumpus.run` in this test, seeds=20 for example",
    )


@contextmanager
def _watched(config: pytest.Config, what: str) -> Iterator[None]:
    """Print where a trial is: every few seconds with ``-v``, else after ten seconds of silence.

    Each of xdist's workers prints a line a minute.
    """
    stream = config.stash.get(_UNCAPTURED, None)
    if stream is None:  # with -q
        yield
        return
    from rumpus.testing.trial_watch import (  # noqa: PLC0415 - slow to import
        SILENT_S,
        VERBOSE_S,
        WORKER_S,
        TrialWatch,
    )

    period = VERBOSE_S if config.get_verbosity() > 0 else SILENT_S
    if hasattr(config, "workerinput"):
        period, what = WORKER_S, f"[{config.workerinput['workerid']}] {what}"
    with TrialWatch(stream, period, what).watching():
        yield


def _kazoo(versions: Mapping[str, str]) -> list[tuple[str, object]]:
    """The property with the version of kazoo; none where no client has it."""
    return [("rumpus_kazoo", versions["kazoo"])] if "kazoo" in versions else []


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseFile | None":
    """Collect cases.

    Raises:
        UsageError: the name of one has characters that a terminal acts upon: pytest prints it.
    """
    if file_path.name.endswith(".case.json") and not file_path.name.isprintable():
        raise pytest.UsageError(f"{str(file_path)!a}: rename it, its name cannot be printed")
    if file_path.name.endswith(".case.json"):
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    """A file with one case."""

    def collect(self) -> Iterator[pytest.Item]:
        """The case as a test."""
        from rumpus.campaigns.replaying import case_name  # noqa: PLC0415 - slow to import

        yield CaseItem.from_parent(self, name=case_name(self.path))


class CaseItem(pytest.Item):
    """A case as a test."""

    def setup(self) -> None:
        """Read the case; one that is known to fail is expected to."""
        from rumpus.campaigns.case import load_case  # noqa: PLC0415 - as above
        from rumpus.results.escapes import escaped  # noqa: PLC0415 - as above
        from rumpus.trial_failed import TrialFailed  # noqa: PLC0415 - as above

        self._case = load_case(self.path)
        if self._case.known:
            reason = escaped(self._case.upstream or "the case says that it is known")
            # What ends a run, or refuses it, is not the failure that is known.
            self.add_marker(pytest.mark.xfail(strict=True, reason=reason, raises=TrialFailed))

    def runtest(self) -> None:
        """Perform the case's run.

        Raises:
            TrialFailed: a promise was broken, or nobody can tell.
            RunTooLong: a simulated run takes longer than it may.
        """
        from rumpus.campaigns.replaying import replay  # noqa: PLC0415 - as above
        from rumpus.harness.run_limits import RUN_S, for_seconds  # noqa: PLC0415 - as above

        options = ("ensemble", "kazoo")
        given = {
            name: value
            for name in options
            if (value := self.config.getoption(f"--rumpus-{name}")) is not None
        }
        budget = self.config.getoption(_BUDGET)
        with (
            _watched(self.config, self.name),
            for_seconds(RUN_S if budget is None else budget, _BUDGET),
        ):
            replayed = replay(self._case, **given)
        self.user_properties += [
            ("rumpus_outcome", replayed.verdict),
            *_kazoo(replayed.versions),
        ]
        replayed.assert_not_reproduced()

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands, and its name."""
        return self.path, None, self.name


class Trials:
    """What the fixture ``rumpus`` is: ``rumpus.run`` with the options of the command line."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config = request.config
        # The fixture ``record_property`` does no more than this, and warns that some CI servers do
        # not read properties of test cases.
        self._properties: list[tuple[str, object]] = request.node.user_properties
        marker = request.node.get_closest_marker("rumpus")
        self._marked: dict[str, Any] = dict(marker.kwargs) if marker is not None else {}

    def run(self, workload: Any, recipe: Any = None, **options: Any) -> Any:
        """``rumpus.run``, and its seed, outcome, kazoo and report as properties in JUnit XML.

        The options of the command line count more than the test's, these more than the marker's.
        """
        from rumpus.trial import run  # noqa: PLC0415 - slow to import, and few tests need it

        given = {
            name.replace("-", "_"): value
            for name in OPTIONS
            if (value := self._config.getoption(f"--rumpus-{name}")) is not None
        }
        options = {**self._marked, **options}
        if options.get("service"):
            given.pop("ensemble", None)  # the services are the servers
        with _watched(self._config, str(getattr(workload, "name", workload))):
            result = run(workload, recipe, **{**options, **given})
        self._properties += [
            ("rumpus_outcome", result.outcome),
            ("rumpus_seed", result.seed),
            ("rumpus_command", result.command),
            *_kazoo(result.versions),
        ]
        if result.report is not None:
            self._properties.append(("rumpus_report", str(result.report)))
        beside = [f"Not judged: {what}" for what in result.unjudged] + result.hazards_in_words()
        self._properties += [(HAZARD, told) for told in beside]
        return result


@pytest.fixture
def rumpus(request: pytest.FixtureRequest) -> Trials:
    """Puts coordination recipes on trial: ``rumpus.run("lock", recipe=MyLock).assert_valid()``."""
    return Trials(request)


@pytest.fixture
def zookeeper(request: pytest.FixtureRequest) -> Iterator[Any]:
    """ZooKeeper servers for this test, and faults for them: see ``rumpus.zookeeper``.

    The marker ``zookeeper`` gives its arguments; ``--rumpus-ensemble`` counts more.
    """
    from rumpus.testing.zookeeper import zookeeper as started  # noqa: PLC0415 - as above

    marker = request.node.get_closest_marker("zookeeper")
    options: dict[str, Any] = dict(marker.kwargs) if marker is not None else {}
    if (ensemble := request.config.getoption("--rumpus-ensemble")) is not None:
        options["ensemble"] = ensemble
    real = options.keys() & {"image", "version"} or options.get("ensemble", "sim") != "sim"
    with ExitStack() as stack:
        with _watched(request.config, "zookeeper") if real else nullcontext():
            servers = stack.enter_context(started(**options))
        yield servers
        with _watched(request.config, "zookeeper") if real else nullcontext():
            stack.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print hazards, and what was not judged: a test that passed would not show them."""
    told = {
        report.nodeid: lines
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        and (lines := [value for name, value in report.user_properties if name == HAZARD])
    }
    if told:
        terminalreporter.section("rumpus: hazards")
        for test, lines in told.items():
            terminalreporter.write_line(test)
            for line in lines:
                terminalreporter.write_line(f"  {line}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001 - the hook's
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a failed trial, or what was refused and why, without the traceback of rumpus."""
    report = yield
    if call.excinfo is not None:
        error = call.excinfo.value
        names = {f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__}
        if names & SAY_ALL:
            from rumpus.results.escapes import escaped_lines  # noqa: PLC0415 - as above

            report.longrepr = escaped_lines(str(error))
    return report
