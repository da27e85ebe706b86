"""What all judges of the final phase ask first: whether there was one, with all faults healed."""

from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.verdict import CheckResult, Requirement


def judged_phase(history: History, result: CheckResult, name: str) -> tuple[Requirement, Op | None]:
    """Require that every client takes part in the final phase.

    Args:
        history: the run.
        result: gets the requirement, and what cannot be known.
        name: the requirement's.

    Returns:
        The requirement, whose ``observed`` the caller counts, and the record that begins the
        phase; None if there is nothing to judge.
    """
    requirement = Requirement(name=name, needed=max(1, history.clients), observed=0)
    result.requirements.append(requirement)
    return requirement, healed_phase(history, result)


def healed_phase(history: History, result: CheckResult) -> Op | None:
    """The record that begins the final phase; None if there is none, or a fault was left.

    A fault that was left excuses whatever comes late, so that is noted as unknown.
    """
    final = final_phase(history)
    if final is None:
        return None
    value = final.value or {}
    if not value.get("healed", False):
        detail = value.get("detail", "")
        result.unknown.append(f"not everything was healed before the final phase: {detail}")
        return None
    return final
