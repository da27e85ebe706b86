"""The faults of a run: when each began, was in force, was being healed and was over."""

from dataclasses import dataclass

from rumpus.checker.history import History

OUTSIDE = "outside"
"""The kind of disturbances that no fault of the plan caused."""


@dataclass
class FaultWindow:
    """One fault, with times in nanoseconds.

    ``how`` says in which way, where a kind of fault has several.

    Starting it took from ``begun`` to ``in_force``, healing it from ``healing`` to ``ended``. So
    ``begun`` to ``ended`` is the widest span in which it can have had effect.
    """

    id: str
    kind: str
    targets: list[str]
    begun: int
    in_force: int | None = None
    healing: int | None = None
    ended: int | None = None
    verified_in_force: bool = False
    verified_healed: bool = False
    detail: str = ""
    how: str = ""


def fault_windows(history: History) -> list[FaultWindow]:
    """The faults of a run in order of their beginning."""
    windows: dict[str, FaultWindow] = {}
    for operation in history.operations(nemesis=True):
        call, done = operation
        value = call.value or {}
        number = str(value.get("id"))
        after = (done.value or {}) if done is not None else {}
        if call.f == "start":
            windows[number] = FaultWindow(
                id=number,
                kind=value["kind"],
                targets=[str(target) for target in after.get("targets", [])],
                begun=call.time,
                in_force=done.time if done is not None else None,
                verified_in_force=bool(after.get("verified")),
                detail=str(after.get("detail", "")),
                how=str(after.get("how", "")),
            )
        elif call.f == "stop" and number in windows:
            ending = windows[number]
            ending.healing = call.time
            if not after.get("recovering"):  # else a later record tells when it was healed
                ending.ended = done.time if done is not None else None
            ending.verified_healed = bool(after.get("verified"))
            if after.get("detail"):
                ending.detail = "; ".join(filter(None, [ending.detail, str(after["detail"])]))
        for mended in after.get("healed") or []:
            window = windows.get(str(mended.get("id")))
            if window is not None and window.ended is None and done is not None:
                window.healing = call.time if window.healing is None else window.healing
                window.ended = done.time
                window.verified_healed = bool(mended["verified"])
    windows |= _outside(history)
    return sorted(windows.values(), key=lambda window: window.begun)


def _outside(history: History) -> dict[str, FaultWindow]:
    """Disturbances that rumpus did not cause, noticed by regular looks, as faults ``outside``."""
    found: dict[str, FaultWindow] = {}
    for op in history.events("control", "outside"):
        value, number = op.value, f"{OUTSIDE}-{op.value['id']}"
        if not value["over"]:
            found[number] = FaultWindow(
                id=number,
                kind=OUTSIDE,
                targets=[value["target"]],
                begun=value["since"],
                in_force=op.time,
                verified_in_force=True,
                detail=value["detail"],
            )
        elif number in found:
            ending = found[number]
            ending.healing, ending.ended, ending.verified_healed = value["since"], op.time, True
            ending.detail = f"{ending.detail}; {value['detail']}"
    return found
