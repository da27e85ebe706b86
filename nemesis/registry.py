"""All faults by name, and which of them can be injected here."""

from collections.abc import Iterable
from random import Random

from rumpus.harness.ensemble import Availability, Ensemble, EnvironmentRefusal
from rumpus.nemesis.client_partition import ClientPartition, LostReply
from rumpus.nemesis.client_process import ClientKill, ClientPause
from rumpus.nemesis.client_request import ClientRequest
from rumpus.nemesis.client_stall import ClientStall
from rumpus.nemesis.clock import ClientClockSkew, ClockSkew
from rumpus.nemesis.disk import FileFull, FileLie, FileSlow
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.follower_lag import FollowerLag
from rumpus.nemesis.partition import Partition
from rumpus.nemesis.plan import EVERYWHERE, Entry
from rumpus.nemesis.scene import Scene
from rumpus.nemesis.server_process import Kill, Pause, PowerOff

FAULTS: dict[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        Kill,
        Pause,
        Partition,
        ClientPause,
        ClientKill,
        ClientPartition,
        FollowerLag,
        PowerOff,
        FileSlow,
        FileFull,
        FileLie,
        ClockSkew,
        ClientClockSkew,
        ClientStall,
        ClientRequest,
    )
}
"""Every kind of fault: name -> its package; those first that every ensemble offers."""


def make_fault(entry: Entry, scene: Scene, rng: Random) -> Fault:
    """The fault that an entry of a plan asks for; ``rng`` decides what the entry leaves open."""
    if entry.how == "lost-reply":
        return LostReply(entry, scene, rng)
    return FAULTS[entry.kind](entry, scene, rng)


def probe(ensemble: Ensemble) -> dict[str, Availability]:
    """Which faults can be injected with an ensemble: name -> availability.

    The usual client faults need nothing but the harness's own processes and links.
    """
    reported = ensemble.probe()
    missing = Availability(
        False, f"the {ensemble.kind} ensemble does not offer it; simulated ones do (--ensemble sim)"
    )
    return {
        kind: reported.get(
            kind,
            Availability(True) if kind in EVERYWHERE and kind.startswith("client-") else missing,
        )
        for kind in FAULTS
    }


def require(kinds: Iterable[str], ensemble: Ensemble) -> None:
    """Refuse faults that cannot be injected here.

    Raises:
        EnvironmentRefusal: naming each such fault and the reason.
    """
    available = probe(ensemble)
    refused = [f"{kind}: {available[kind].why}" for kind in kinds if not available[kind].available]
    if refused:
        raise EnvironmentRefusal(
            f"cannot be injected here: {'; '.join(refused)}. Leave them out with --nemesis, or "
            "run `rumpus doctor` to see what this host lacks"
        )
