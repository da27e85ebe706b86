"""What systematic runs place at every frame of a client, made of ``client-frame`` faults."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rumpus.nemesis.client_frame import FrameAction

LATER_S: Final = 0.6
"""For how many seconds a stalled thread is behind its client's new session."""

FRAME_MODES: Final[Mapping[str, tuple[tuple[FrameAction, float], ...]]] = MappingProxyType(
    {
        "drops": (("lose", 0.0),),
        "cuts": (("reset", 0.0),),
        "expiries": (("silence", 0.0),),
        "pauses": (("freeze", 0.0),),
        "stalls": (("silence", LATER_S), ("stall", 0.0)),
    }
)
"""What is placed at every frame, and how many seconds before the others it is healed. ``drops``:
the frame is lost with its connection. ``cuts``: the connection is reset after it. ``expiries``:
nothing passes any more until the session has ended. ``pauses``: the client is frozen until its
session has ended. ``stalls``: the thread that performs the client's operations does not run until
after the client has lost its session and got another one."""
