"""Faults counted from the nemesis's records alone."""

from dataclasses import dataclass


@dataclass
class Fault:
    """Nanoseconds from the call of its start to the end of its stop, or of the run."""

    kind: str
    began: int
    ended: int
    verified: bool
    healed: bool = False
    stopped: bool = False


def faults_of(run):
    found = {}
    for call, done in run.calls_of(nemesis=True):
        number, value = (call["value"] or {}).get("id"), (done["value"] if done else None) or {}
        if call["f"] == "start":
            verified = value.get("verified", False)
            found[number] = Fault(call["value"]["kind"], call["time"], run.end, verified)
        elif call["f"] == "stop" and done is not None and not value.get("recovering"):
            fault = found[number]
            fault.ended, fault.healed, fault.stopped = done["time"], value["verified"], True
        for each in value.get("healed") or []:
            fault = found[each["id"]]
            if not fault.stopped:
                fault.ended, fault.healed, fault.stopped = done["time"], each["verified"], True
    return list(found.values())


def proven(run):
    """Those seen in force, seen healed, and with an operation that was open while they lasted."""
    spans = [(c.called, run.end if c.error == "open" else c.returned) for c in run.calls]
    return [
        fault
        for fault in faults_of(run)
        if fault.verified
        and fault.healed
        and any(called <= fault.ended and fault.began <= returned for called, returned in spans)
    ]
