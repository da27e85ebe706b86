"""Claims of articles about ZooKeeper and its recipes, as far as runs can decide them.

Each claim has the commands that decide it and a function that reads their results.
``docs.generators.claims_page`` generates ``docs/track-record/claims.md`` from this.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rumpus.results.wording import milliseconds

Results = Mapping[str, Any]
"""A run's ``results.json``."""

CONFIRMED: Final = "confirmed"
REFUTED: Final = "refuted"

SOURCES: Final[Mapping[str, str]] = {
    "G": "Zookeeper を簡単に説明する (パート 2): locks and leader election on ZooKeeper",
    "L": "zookeeper學習 (Linux教程網): a study of Chubby and ZooKeeper",
    "A": "私たちのシステムにはどのような分散ロックが必要ですか? (Alibaba Cloud Storage): which "
    "distributed lock a storage system needs",
    "P": "ZooKeeper Recipes and Solutions 两段式提交和选主: two-phase commit and leader election",
}
"""The articles, by the letters that the pages of the recipes use too."""


@dataclass(frozen=True)
class Claim:
    """One claim.

    Args:
        words: what is claimed, in our words.
        source: the article's letter in ``SOURCES``.
        commands: the arguments of ``rumpus`` that decide it, with seeds.
        read: takes the commands' results in their order; returns what was measured, in words,
            and whether the claim holds.
        note: an explanation; empty if none is needed.
    """

    words: str
    source: str
    commands: Sequence[str]
    read: Callable[[Sequence[Results]], tuple[str, bool]]
    note: str = ""


def _count(results: Results, kind: str) -> int:
    return sum(row["count"] for row in results["anomalies"] if row["kind"] == kind)


def _stat(results: Results, check: str, name: str) -> Any:
    (found,) = [each["stats"][name] for each in results["checks"] if each["name"] == check]
    return found


def _woken(results: Results) -> float:
    share: float = results["measures"]["wakeups"]["per_release"]
    return share


def _median(results: Results, f: str) -> float:
    (median,) = [row["median"] for row in results["by_function"] if row["name"] == f]
    return float(median)


def _handover(results: Results, after: str) -> float:
    (row,) = [row for row in results["measures"]["handovers"] if row["after"] == after]
    return float(row["median"])


def _events(results: Results) -> float:
    messages = results["measures"]["messages"]
    grants = messages["total"] / messages["per_grant"]
    return float(messages["watch_events"] / grants)


def _sim(words: str, seed: int = 1) -> str:
    return f"run {words} --ensemble sim --seed {seed}"


def _twice(runs: Sequence[Results]) -> tuple[str, bool]:
    stale = [_count(run, "stale-belief") for run in runs]
    split = [_count(run, "split-brain") for run in runs]
    return (
        (
            f"`stale-belief` {stale[0]} times with the lock of the article, {stale[1]} with a "
            f"validity window; `split-brain` (both sessions alive) {split[0]} and {split[1]}"
        ),
        stale[0] == 0,
    )


def _one_wakes(runs: Sequence[Results]) -> tuple[str, bool]:
    woken = [_woken(run) for run in runs]
    told = ", ".join(f"{share:.2f}" for share in woken)
    return f"wake-ups for each release with 2, 10 and 50 clients: {told}", max(woken) < 1.5


def _all_wake(runs: Sequence[Results]) -> tuple[str, bool]:
    woken = [_woken(run) for run in runs]
    told = ", ".join(f"{share:.2f}" for share in woken)
    waiting = zip(woken, (1, 9, 49), strict=True)
    return (
        f"wake-ups for each release with 2, 10 and 50 clients: {told}",
        all(share > 0.8 * others for share, others in waiting),
    )


def _spread(runs: Sequence[Results]) -> tuple[str, bool]:
    fair, unfair = (run["measures"]["spread"] for run in runs)
    judged, wrong = _stat(runs[0], "order", "judged"), _count(runs[0], "unfair-grant")
    return (
        (
            f"fair: `unfair-grant` {wrong} among {judged} grants, {fair['least']} to "
            f"{fair['most']} for each client, Jain's index {fair['jain']:.3f}; unfair: "
            f"{unfair['least']} to {unfair['most']}, {unfair['jain']:.3f}"
        ),
        judged > 0 == wrong and unfair["jain"] < 0.99,
    )


def _waits(runs: Sequence[Results]) -> tuple[str, bool]:
    fair, unfair = (_median(run, "acquire") for run in runs)
    grants = [run["measures"]["spread"]["grants"] for run in runs]
    return (
        (
            f"median of acquire: fair {milliseconds(fair)}, unfair {milliseconds(unfair)}; grants "
            f"in the same time: {grants[0]} and {grants[1]}; handover after a release: "
            f"{milliseconds(_handover(runs[0], 'release'))} and "
            f"{milliseconds(_handover(runs[1], 'release'))}"
        ),
        fair > unfair,
    )


def _stale_reads(runs: Sequence[Results]) -> tuple[str, bool]:
    local, synced = (_count(run, "not-linearizable") for run in runs)
    return (
        f"`not-linearizable` {local} with plain reads, {synced} with a sync before each read",
        local > 0 == synced,
    )


def _late(runs: Sequence[Results]) -> tuple[str, bool]:
    without, guarded = (_count(run, "stale-action") for run in runs)
    return (
        f"`stale-action` {without} without the margin, {guarded} with it",
        without > 0 == guarded,
    )


def _delay(runs: Sequence[Results]) -> tuple[str, bool]:
    plain, delayed, longer = (_count(run, "stale-action") for run in runs)
    return (
        (
            f"`stale-action` {plain} without the delay, {delayed} with it; {longer} with it where "
            "actions take 4 s"
        ),
        plain > 0 == delayed,
    )


def _fence(runs: Sequence[Results]) -> tuple[str, bool]:
    harm = [_count(run, "stale-action") for run in runs]
    refused = _count(runs[1], "fenced")
    return (
        f"`stale-action` {harm[0]} without the fence, {harm[1]} with it, which refused {refused}",
        harm[0] > 0 == harm[1] and refused > 0,
    )


def _squared(runs: Sequence[Results]) -> tuple[str, bool]:
    printed, coordinated = [_events(run) for run in runs[:3]], [_events(run) for run in runs[3:]]

    def growth(events: Sequence[float]) -> float:
        return math.log(events[2] / events[0]) / math.log(11 / 3)

    def told(events: Sequence[float]) -> str:
        return ", ".join(f"{each:.1f}" for each in events)

    return (
        (
            f"watch events for each transaction with 3, 6 and 11 sites: {told(printed)} when all "
            f"watch all (growth as n to the {growth(printed):.1f}), {told(coordinated)} with a "
            f"coordinator (n to the {growth(coordinated):.1f})"
        ),
        growth(printed) > 1.7 and growth(coordinated) < 1.3,
    )


def _expiry(runs: Sequence[Results]) -> tuple[str, bool]:
    after = [_handover(run, "death") for run in runs]
    return (
        (
            f"median from the holder's death to the next grant: {milliseconds(after[0])} with "
            f"sessions of 2 s, {milliseconds(after[1])} with sessions of 4 s; after a release "
            f"{milliseconds(_handover(runs[0], 'release'))}"
        ),
        2000 <= after[0] < 3500 and 4000 <= after[1] < 5500,
    )


def _identity(runs: Sequence[Results]) -> tuple[str, bool]:
    (run,) = runs
    after = _handover(run, "death")
    return (
        (
            f"median from the holder's death to the next grant: {milliseconds(after)} with "
            "sessions of 2 s, including up to 400 ms that the supervisor takes to make sure; "
            f"`freed-live-holder` {_count(run, 'freed-live-holder')}"
        ),
        after < 1000 and not _count(run, "freed-live-holder"),
    )


def _blacklist(runs: Sequence[Results]) -> tuple[str, bool]:
    (run,) = runs
    listed = _stat(run, "blacklisting", "sessions put on the list")
    quick = _stat(run, "blacklisting", "obeyed within their hang")
    missed = _count(run, "missed-revocation")
    split = _count(run, "split-brain")
    return (
        (
            f"{listed} sessions blacklisted; {quick} locks passed on while their holder hung; "
            f"`missed-revocation` {missed}, `split-brain` {split}"
        ),
        quick > 0 == missed + split,
    )


def _restart(runs: Sequence[Results]) -> tuple[str, bool]:
    (run,) = runs
    (kills,) = [row["count"] for row in run["faults"] if row["kind"] == "kill"]
    expired = _stat(run, "exercise", "sessions that expired")
    early = _count(run, "early-removal")
    return (
        (
            f"{kills} kills and restarts of servers: {expired} sessions expired, `early-removal` "
            f"of an ephemeral node {early}"
        ),
        expired > 0,
    )


def _dies(runs: Sequence[Results]) -> tuple[str, bool]:
    (run,) = runs
    expired = _stat(run, "exercise", "sessions that expired")
    left, early = _count(run, "lingering-ephemeral"), _count(run, "early-removal")
    return (
        f"{expired} sessions expired; `lingering-ephemeral` {left}, `early-removal` {early}",
        expired > 0 == left + early,
    )


def _watches(runs: Sequence[Results]) -> tuple[str, bool]:
    (run,) = runs
    kinds = ("late-event", "repeated-event", "session-order", "missed-event")
    counts = [_count(run, kind) for kind in kinds]
    told = ", ".join(f"`{kind}` {count}" for kind, count in zip(kinds, counts, strict=True))
    waits = _stat(run, "missed changes", "waits")
    return f"{waits} waits for a change: {told}", waits > 0 == sum(counts)


_SLOW = "--session-timeout 10 --action-time 6 --nemesis client-partition --nemesis-interval 15"

CLAIMS: Final[Sequence[Claim]] = (
    Claim(
        "At any time at most one client believes that it holds the lock.",
        "G",
        [
            _sim("lock --recipe fair --nemesis client-pause --time-limit 30"),
            _sim("lock --recipe validity --nemesis client-pause --time-limit 30"),
        ],
        _twice,
        "A holder that was frozen until after its session expired does not know it. While both "
        "sessions live the claim holds. With a validity window it always holds.",
    ),
    Claim(
        "Fair lock: a release wakes one waiter.",
        "G",
        [
            _sim(f"lock --recipe fair --clients {n} --nemesis none --time-limit 5")
            for n in (2, 10, 50)
        ],
        _one_wakes,
        "The excess over 1 comes from watches that earlier attempts left when they gave up.",
    ),
    Claim(
        "Unfair lock: a release wakes all waiters.",
        "G",
        [
            _sim(f"lock --recipe unfair --clients {n} --nemesis none --time-limit 5")
            for n in (2, 10, 50)
        ],
        _all_wake,
        "The figure is below the number of other clients, because not all of them wait at that "
        "moment.",
    ),
    Claim(
        "The fair lock serves in order of arrival; the unfair lock does not.",
        "G",
        [
            _sim(f"lock --recipe {recipe} --clients 10 --nemesis none --time-limit 10")
            for recipe in ("fair", "unfair")
        ],
        _spread,
    ),
    Claim(
        "Clients wait longer for the fair lock than for the unfair one, since the next holder must "
        "be told first.",
        "G",
        [
            _sim(f"lock --recipe {recipe} --clients 10 --nemesis none --time-limit 10")
            for recipe in ("fair", "unfair")
        ],
        _waits,
        "The median is longer because a few clients take the unfair lock again and again. The "
        "reason given by the article is refuted: after a release, a waiter of the fair lock is "
        "granted it sooner.",
    ),
    Claim(
        "Reads may be stale, and a sync before the read prevents it.",
        "G",
        [
            _sim(f"register --recipe {recipe} --nemesis follower-lag --time-limit 30")
            for recipe in ("local", "synced")
        ],
        _stale_reads,
    ),
    Claim(
        "A holder that acts only while enough validity is left for the action never acts late, "
        "however slow the action.",
        "A",
        [
            _sim(f"lock --recipe validity {_SLOW} --time-limit 120", seed=12),
            _sim(f"lock --recipe validity {_SLOW} --time-limit 120 --guard 6", seed=12),
        ],
        _late,
        "No process is paused here. Without the margin an action of 6 s is longer than what was "
        "left of the validity window when it began.",
    ),
    Claim(
        "A lock-delay protects against requests of a failed holder that are still under way.",
        "L",
        [
            _sim(
                f"lock --recipe {recipe} --action-time {seconds} --nemesis client-partition "
                "--nemesis-interval 5 --time-limit 300",
                seed=1,
            )
            for recipe, seconds in (("fair", 1.6), ("lock-delay", 1.6), ("lock-delay", 4))
        ],
        _delay,
        "The delay is 1 s, the session timeout 2 s. A holder that is cut off begins no action "
        "after 1.3 s, so an action of 1.6 s ends at most 0.9 s after the session. A delay protects "
        "only if it is long enough.",
    ),
    Claim(
        "A fence (growing tokens that the resource compares) refuses stale holders.",
        "A",
        [
            _sim("lock --recipe fair --nemesis client-pause --nemesis-interval 5 --time-limit 30"),
            _sim(
                "lock --recipe fair --nemesis client-pause --nemesis-interval 5 --time-limit 30 "
                "--fencing"
            ),
        ],
        _fence,
    ),
    Claim(
        "Two-phase commit in which all sites watch all votes costs n² messages; it scales better "
        "if only the coordinator watches, and then tells the sites.",
        "P",
        [
            _sim(
                "docs.generators.agreeing_sites:AgreeingSites "
                f"--recipe {recipe} --clients {n} --nemesis none --time-limit 12"
            )
            for recipe in ("site-nodes", "coordinated")
            for n in (3, 6, 11)
        ],
        _squared,
        "Measured on the algorithm as printed, in its order: each site sets its watches, then "
        "votes. All vote yes; with a *no*, or if some sites watch later, there are fewer messages.",
    ),
    Claim(
        "After a holder's death the lock passes on when its session expires: session timeouts "
        "should be as short as heartbeats allow.",
        "A",
        [
            _sim(
                "lock --recipe fair --nemesis client-kill --nemesis-interval 8 --time-limit 40 "
                f"--session-timeout {timeout}"
            )
            for timeout in (2, 4)
        ],
        _expiry,
    ),
    Claim(
        "A supervisor that knows of the death frees the lock without waiting for the expiry, by "
        "the identity in the holder's node.",
        "A",
        [_sim("breaking --recipe by-identity --time-limit 30")],
        _identity,
    ),
    Claim(
        "The lock of a holder that hangs is taken safely by ending its session, not by deleting "
        "its node.",
        "A",
        [_sim("breaking --recipe blacklist --time-limit 30")],
        _blacklist,
    ),
    Claim(
        "The restart of a server ends sessions and removes their ephemeral nodes.",
        "G",
        [_sim("ephemeral --nemesis kill --time-limit 30")],
        _restart,
        "A session belongs to the ensemble. Its client continues it at another server, or at the "
        "restarted one, if it connects within the session timeout.",
    ),
    Claim(
        "A lock is released when its holder dies: an ephemeral node lives exactly as long as its "
        "session.",
        "G",
        [_sim("ephemeral --nemesis client-kill,client-partition --time-limit 30")],
        _dies,
    ),
    Claim(
        "A watch fires once, its event is seen before the new data, and events come in the order "
        "of the changes.",
        "L",
        [_sim("watch --time-limit 30")],
        _watches,
    ),
)
