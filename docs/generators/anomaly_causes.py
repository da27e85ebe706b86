"""Why a run shows an anomaly, where that is known: mutants have a mistake, findings a flaw."""

from docs.generators.anomaly_examples import case_of, task_of
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.registry import WORKLOADS


def cause_of(command: str) -> str:
    """The cause of what a run shows, in Markdown; empty if no part of it has a known mistake.

    Args:
        command: the arguments of ``rumpus`` that perform the run.
    """
    settings = task_of(command).settings
    if settings.server_mutant is not None:
        mistake = SERVER_MUTANTS[settings.server_mutant].mistake
        return _ended(f"The servers are mutants (`{settings.server_mutant}`): they {mistake}")
    case = case_of(command)
    if case is not None and case.finding is not None:
        place = "../../track-record/findings.md"
        return _ended(f"This is [finding {case.finding.number}]({place}). {case.finding.what}")
    workload = WORKLOADS[str(settings.workload)]
    entry = workload.catalogue.get(settings.recipe or "")
    if entry is None or not entry.faulty:
        return ""
    place = f"../../recipes/{workload.name}.md"
    named = f"The recipe is the mutant [`{settings.recipe}`]({place})"
    return _ended(f"{named}. Its mistake: {entry.mistake}")


def _ended(words: str) -> str:
    return words if words.endswith(".") else f"{words}."
