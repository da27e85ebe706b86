"""How clients use a recipe, beyond what a workload's script says: a plain value, drawn for swarms.

Real programs use one object for years or a new one for each call, try without waiting, send other
requests over the same connection, and stop and start their clients. The default is none of that.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from rumpus.checker.nearest_name import meant
from rumpus.harness.generators.seed import Seed

MOST_OBJECTS: Final = 4

BEYOND_S: Final = 3.0
"""How much longer than a session long holds may last: until servers have noticed, and others
have been granted what the holder believes to hold."""

_Share = Annotated[float, Meta(ge=0, le=1)]
_Seconds = Annotated[float, Meta(ge=0, le=60)]


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How clients use a recipe.

    Args:
        think: the longest rest before an operation, in seconds; 0: none.
        burst: how many operations follow each other without a rest.
        tries: share of attempts that do not wait (timeout 0), in families where clients contend.
        patience: the longest timeout of the other attempts there, in seconds; likewise of waits at
            a barrier, and of one take in three in the vigil of a queue; 0: as the workload has it.
        objects: how many objects of the recipe each client uses, in turns.
        fresh: whether a client makes a new object each time that it begins.
        restarts: share of those beginnings before which the client is stopped and started again,
            so that it has a new session.
        interrupts: share of those beginnings after which another thread of the program stops and
            starts the client at some moment: while the attempt waits, during the hold, or during
            the release. In families where clients do not contend: share of all periods of three
            seconds of the load.
        auths: share of those after which another thread authenticates at such a moment.
        traffic: how many further requests a client sends before each operation while it holds.
        holding: how long half of the holds last, at the longest, in seconds, in families where
            clients contend; 0: as the workload has it.
        chatter: how many further requests a client sends in each third of its session's timeout
            while it holds, whatever its operations do meanwhile.
        prefixes: whether each client's name is the beginning of the next one's, in families where
            names tell nobody who it is.
        vanishing: share of the beginnings before which the parent of the contenders' nodes is
            deleted, if it has no children; of queues, share of the takes before which the folders
            of elements and of claims are.
        asks: share of operations after which a client asks the recipe what it says of itself: who
            contends, who holds, how many elements there are. Where the recipe can be asked.
        batches: share of puts that put several elements at once, where the recipe can.
        cancels: share of attempts that wait without a timeout until another thread cancels them,
            and of releases before which the holder cancels though nobody waits. Where clients
            contend for a recipe that can be cancelled.
        threads: share of holds during which another thread of the client tries to get it, too.
            Where the recipe promises re-entrance, which is by thread.
    """

    think: _Seconds = 0.0
    burst: Annotated[int, Meta(ge=0, le=1000)] = 0
    tries: _Share = 0.0
    patience: _Seconds = 0.0
    objects: Annotated[int, Meta(ge=1, le=MOST_OBJECTS)] = 1
    fresh: bool = False
    restarts: _Share = 0.0
    interrupts: _Share = 0.0
    auths: _Share = 0.0
    traffic: Annotated[int, Meta(ge=0, le=100)] = 0
    holding: _Seconds = 0.0
    chatter: Annotated[int, Meta(ge=0, le=100)] = 0
    prefixes: bool = False
    vanishing: _Share = 0.0
    asks: _Share = 0.0
    batches: _Share = 0.0
    cancels: _Share = 0.0
    threads: _Share = 0.0

    def name(self, client: int) -> str:
        """What a client is called."""
        return f"c{'1' * client}" if self.prefixes else f"c{client}"


USUAL: Final = Usage()
"""What clients do unless something else is asked for."""


def usage_words(usage: Usage) -> str:
    """A usage as ``parse_usage`` reads it: what differs from the default, ``a=1,b=2``."""
    given = msgspec.to_builtins(usage)
    return ",".join(f"{name}={str(value).lower()}" for name, value in given.items())


_KINDS: Final = {"bool": "true or false", "float": "a number", "int": "a whole number"}
"""Kinds of values as msgspec calls them -> in words."""


def parse_usage(text: str) -> Usage:
    """Read a usage, ``name=value`` separated by commas.

    Raises:
        ValueError: a name is unknown or a value is not allowed; the message says which.
    """
    given: dict[str, str | bool] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in each.partition("="))
        if name not in Usage.__struct_fields__:
            raise ValueError(f"unknown usage {name!r}; {meant(name, Usage.__struct_fields__)}")
        if not equals:
            raise ValueError(f"{name} has no value; write {name}=VALUE")
        given[name] = value
    try:
        return msgspec.convert(given, Usage, strict=False)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`")
        for kind, words in _KINDS.items():
            if what == f"Expected `{kind}`, got `str`":
                what = f"{given[name]!r} is not {words}"
        raise ValueError(f"{name}: {what}") from error


def draw_usage(seed: Seed, session_timeout: float) -> Usage:
    """Draw a usage: each of its parts in about one run of three.

    ``auths`` is not drawn: kazoo, up to 2.11.0, takes the answer to an authentication for that to
    another request (finding 27), so every run would only show that.

    Args:
        seed: decides everything.
        session_timeout: seconds; patience is measured by it.
    """
    at = iter(range(1000))
    calls = iter(range(1000, 2000))

    def below(bound: int) -> int:
        return seed.child(next(at)).below(bound)[0]

    def share(*shares: float) -> float:
        """One of these in a run of three: further calls, whose draws change no others."""
        if seed.child(next(calls)).below(3)[0]:
            return 0.0
        return shares[seed.child(next(calls)).below(len(shares))[0]]

    def sometimes(number: int = 3) -> bool:
        return below(number) == 0

    think = (0.02, 0.1, 0.5, 1.5)[below(4)]
    burst = (0, 2, 5, 20)[below(4)]
    rests = sometimes()
    usage = Usage(
        think=think if rests else 0.0,
        burst=burst if rests else 0,
        tries=(0.1, 0.3, 0.6)[below(3)] if sometimes() else 0.0,
        patience=round((0.1, 0.5, 1.5, 4.0)[below(4)] * session_timeout, 3) if sometimes() else 0.0,
        objects=2 + below(MOST_OBJECTS - 1) if sometimes() else 1,
        fresh=sometimes(),
        restarts=(0.02, 0.1)[below(2)] if sometimes(4) else 0.0,
        traffic=1 + below(4) if sometimes() else 0,
        prefixes=sometimes(),
        vanishing=(0.05, 0.2)[below(2)] if sometimes(4) else 0.0,
        asks=share(0.05, 0.2, 0.5),
        batches=share(0.2, 0.6),
        cancels=share(0.1, 0.4),
        threads=share(0.1, 0.3),
    )
    # A holder that outlives a session, and a leader of servers that has not noticed its fall.
    if sometimes(4):
        holding = round(session_timeout + BEYOND_S + below(3), 3)
        usage = msgspec.structs.replace(usage, holding=holding, chatter=below(4))
    if sometimes(4):
        usage = msgspec.structs.replace(usage, interrupts=(0.05, 0.2)[below(2)])
    return usage
