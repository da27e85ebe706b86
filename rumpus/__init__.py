"""rumpus: correctness and chaos tests for coordination recipes on ZooKeeper.

All that a user imports is here; docs/reference/api.md describes it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumpus.campaigns.case import Case as Case
    from rumpus.campaigns.replaying import Replay as Replay
    from rumpus.campaigns.replaying import replay as replay
    from rumpus.checker.anomalies import anomaly_of as anomaly_of
    from rumpus.checker.check import Least as Least
    from rumpus.checker.every_run.final_answers import check_final_answers as check_final_answers
    from rumpus.checker.every_run.timeouts import TIMED_OUT as TIMED_OUT
    from rumpus.checker.every_run.timeouts import check_timeouts as check_timeouts
    from rumpus.checker.every_run.waiters import check_waiters as check_waiters
    from rumpus.checker.history import History as History
    from rumpus.checker.history import Op as Op
    from rumpus.checker.models.model import ILLEGAL as ILLEGAL
    from rumpus.checker.models.model import REFUSED as REFUSED
    from rumpus.checker.models.model import UNKNOWN as UNKNOWN
    from rumpus.checker.models.model import Model as Model
    from rumpus.checker.timeline.calm import disturbances as disturbances
    from rumpus.checker.timeline.calm import longest_calm as longest_calm
    from rumpus.checker.timeline.holds import Words as Words
    from rumpus.checker.timeline.timeline import Timeline as Timeline
    from rumpus.checker.verdict import Anomaly as Anomaly
    from rumpus.checker.verdict import CheckResult as CheckResult
    from rumpus.checker.verdict import Kind as Kind
    from rumpus.checker.verdict import Requirement as Requirement
    from rumpus.harness.clients.client_body import ClientContext as ClientContext
    from rumpus.harness.clients.client_body import Leaves as Leaves
    from rumpus.harness.clients.workers import WorkerCrash as WorkerCrash
    from rumpus.harness.ensemble import EnvironmentRefusal as EnvironmentRefusal
    from rumpus.harness.generators.script import Client as Client
    from rumpus.harness.generators.script import ScriptFunction as ScriptFunction
    from rumpus.harness.generators.script import Steps as Steps
    from rumpus.harness.generators.script import once as once
    from rumpus.harness.generators.script import only as only
    from rumpus.harness.generators.script import until_answered as until_answered
    from rumpus.harness.generators.script import until_ok as until_ok
    from rumpus.history_check import CheckedHistory as CheckedHistory
    from rumpus.history_check import check as check
    from rumpus.nemesis.client_fault import ClientFault as ClientFault
    from rumpus.nemesis.fault import Draft as Draft
    from rumpus.nemesis.fault import Fault as Fault
    from rumpus.nemesis.fault import FaultOptions as FaultOptions
    from rumpus.nemesis.fault import Turn as Turn
    from rumpus.nemesis.fault_context import FaultContext as FaultContext
    from rumpus.nemesis.fault_context import Finding as Finding
    from rumpus.nemesis.server_fault import ServerFault as ServerFault
    from rumpus.nemesis.targets import Targets as Targets
    from rumpus.recipes.catalogue_entry import mutant as mutant
    from rumpus.recipes.catalogue_entry import sound as sound
    from rumpus.recipes.outcomes import NotDone as NotDone
    from rumpus.recipes.outcomes import OutcomeUnknown as OutcomeUnknown
    from rumpus.recipes.promises import Line as Line
    from rumpus.recipes.promises import Promises as Promises
    from rumpus.results.store_error import UnreadableRun as UnreadableRun
    from rumpus.testing.control_server import control_server as control_server
    from rumpus.testing.servers import Dump as Dump
    from rumpus.testing.zookeeper import ZooKeeper as ZooKeeper
    from rumpus.testing.zookeeper import zookeeper as zookeeper
    from rumpus.trial import Result as Result
    from rumpus.trial import SeedResult as SeedResult
    from rumpus.trial import run as run
    from rumpus.trial_failed import TrialFailed as TrialFailed
    from rumpus.usage_error import UsageError as UsageError
    from rumpus.version import __version__ as __version__
    from rumpus.workloads.framework.checks import answered as answered
    from rumpus.workloads.framework.checks import at_least as at_least
    from rumpus.workloads.framework.checks import counted as counted
    from rumpus.workloads.framework.checks import everybody_at_the_end as everybody_at_the_end
    from rumpus.workloads.framework.checks import follows as follows
    from rumpus.workloads.framework.checks import of_history as of_history
    from rumpus.workloads.framework.checks import promised as promised
    from rumpus.workloads.framework.operation import Failed as Failed
    from rumpus.workloads.framework.operation import Refused as Refused
    from rumpus.workloads.framework.operation import Seconds as Seconds
    from rumpus.workloads.framework.operation import Unknown as Unknown
    from rumpus.workloads.framework.operation import operation as operation
    from rumpus.workloads.framework.workload import Workload as Workload

_PLACES = {
    "Anomaly": "rumpus.checker.verdict",
    "Case": "rumpus.campaigns.case",
    "CheckResult": "rumpus.checker.verdict",
    "CheckedHistory": "rumpus.history_check",
    "Client": "rumpus.harness.generators.script",
    "ClientContext": "rumpus.harness.clients.client_body",
    "ClientFault": "rumpus.nemesis.client_fault",
    "Draft": "rumpus.nemesis.fault",
    "Dump": "rumpus.testing.servers",
    "EnvironmentRefusal": "rumpus.harness.ensemble",
    "Failed": "rumpus.workloads.framework.operation",
    "Fault": "rumpus.nemesis.fault",
    "FaultContext": "rumpus.nemesis.fault_context",
    "FaultOptions": "rumpus.nemesis.fault",
    "Finding": "rumpus.nemesis.fault_context",
    "History": "rumpus.checker.history",
    "ILLEGAL": "rumpus.checker.models.model",
    "Leaves": "rumpus.harness.clients.client_body",
    "Kind": "rumpus.checker.verdict",
    "Least": "rumpus.checker.check",
    "Line": "rumpus.recipes.promises",
    "Model": "rumpus.checker.models.model",
    "NotDone": "rumpus.recipes.outcomes",
    "Op": "rumpus.checker.history",
    "OutcomeUnknown": "rumpus.recipes.outcomes",
    "Promises": "rumpus.recipes.promises",
    "REFUSED": "rumpus.checker.models.model",
    "Refused": "rumpus.workloads.framework.operation",
    "Replay": "rumpus.campaigns.replaying",
    "Requirement": "rumpus.checker.verdict",
    "Result": "rumpus.trial",
    "ScriptFunction": "rumpus.harness.generators.script",
    "Seconds": "rumpus.workloads.framework.operation",
    "SeedResult": "rumpus.trial",
    "ServerFault": "rumpus.nemesis.server_fault",
    "Steps": "rumpus.harness.generators.script",
    "TIMED_OUT": "rumpus.checker.every_run.timeouts",
    "Targets": "rumpus.nemesis.targets",
    "Timeline": "rumpus.checker.timeline.timeline",
    "TrialFailed": "rumpus.trial_failed",
    "Turn": "rumpus.nemesis.fault",
    "UNKNOWN": "rumpus.checker.models.model",
    "Unknown": "rumpus.workloads.framework.operation",
    "UnreadableRun": "rumpus.results.store_error",
    "UsageError": "rumpus.usage_error",
    "Words": "rumpus.checker.timeline.holds",
    "WorkerCrash": "rumpus.harness.clients.workers",
    "Workload": "rumpus.workloads.framework.workload",
    "ZooKeeper": "rumpus.testing.zookeeper",
    "__version__": "rumpus.version",
    "anomaly_of": "rumpus.checker.anomalies",
    "answered": "rumpus.workloads.framework.checks",
    "at_least": "rumpus.workloads.framework.checks",
    "check": "rumpus.history_check",
    "check_final_answers": "rumpus.checker.every_run.final_answers",
    "check_timeouts": "rumpus.checker.every_run.timeouts",
    "check_waiters": "rumpus.checker.every_run.waiters",
    "control_server": "rumpus.testing.control_server",
    "counted": "rumpus.workloads.framework.checks",
    "disturbances": "rumpus.checker.timeline.calm",
    "everybody_at_the_end": "rumpus.workloads.framework.checks",
    "follows": "rumpus.workloads.framework.checks",
    "longest_calm": "rumpus.checker.timeline.calm",
    "mutant": "rumpus.recipes.catalogue_entry",
    "of_history": "rumpus.workloads.framework.checks",
    "once": "rumpus.harness.generators.script",
    "only": "rumpus.harness.generators.script",
    "operation": "rumpus.workloads.framework.operation",
    "promised": "rumpus.workloads.framework.checks",
    "replay": "rumpus.campaigns.replaying",
    "run": "rumpus.trial",
    "sound": "rumpus.recipes.catalogue_entry",
    "until_answered": "rumpus.harness.generators.script",
    "until_ok": "rumpus.harness.generators.script",
    "zookeeper": "rumpus.testing.zookeeper",
}
"""Name -> the module that defines it. Modules are imported when a name is first asked for: every
process of a run imports this package."""

__all__ = [*_PLACES]  # noqa: PLE0604 - all of them are strings


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        # `__import__` and not `importlib`: a simulated process has its own copies of modules.
        return getattr(__import__(_PLACES[name], fromlist=[name]), name)
    nearest = __import__("rumpus.checker.nearest_name", fromlist=["nearest"]).nearest
    near = None if name.startswith("_") else nearest(name, _PLACES)
    hint = f"; did you mean {near}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
