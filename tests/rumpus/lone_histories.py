"""Small histories by hand, one pair for each workload: a sound one, and one that breaks a promise.

Operations come one after another unless a call and its answer are written apart.
"""

from typing import Any, Self

from tests.checker.recorded import Recorded


class Story(Recorded):
    """A history told operation by operation; each record is a millisecond after the last."""

    def call(self, process: int, f: str, value: Any = None) -> Self:
        return self.add(10 + len(self.ops), process, "invoke", f, value)

    def answer(self, process: int, f: str, value: Any = None) -> Self:
        return self.add(10 + len(self.ops), process, "ok", f, value)

    def did(self, process: int, f: str, asked: Any = None, told: Any = None) -> Self:
        return self.call(process, f, asked).answer(process, f, told)

    def grant(self, process: int, number: int, f: str = "acquire", token: int = 0, **asked) -> Self:
        """A grant whose node has that number in the line; the token grows with it, unless given."""
        return self.call(process, f, {"timeout": 5.0, **asked}).answer(
            process, f, granted(process, number, token)
        )


def granted(process, number, token=0):
    node = f"/rumpus/x-contender-{number:010d}"
    return {"session": f"0x{process + 1}", "token": token or 100 + number, "node": node}


def turns(*tokens, f="acquire", release="release", **asked):
    story = Story(len(tokens))
    for number, token in enumerate(tokens):
        story.grant(number, number, f, token, **asked).did(number, release)
    return story


def permits(held):
    """So many clients hold a permit at once, and all are granted again in their sessions."""
    story = Story(held)
    for process in range(held):
        story.grant(process, process)
    for process in range(held):
        story.did(process, "release")
    for process in range(held):
        story.grant(process, held + process).did(process, "release")
    return story


def queued(*elements, priority=False):
    """Elements are put in the order of their names, and come out in this one."""
    story = Story(2)
    for number, element in enumerate(sorted({*elements})):
        more = {"priority": number} if priority else {}
        story.did(0, "enqueue", {"value": element, "timeout": 2.0, **more})
    for element in elements:
        story.did(1, "dequeue", {"timeout": 2.0}, {"value": element})
    return story


def gate(*, opened):
    key = {"key": 0, "timeout": 5.0}
    story = Story(3).did(0, "create", key)
    if opened:
        story.did(0, "remove", key)
    return story.did(2, "wait", {**key, "value": None})


def round_of_two(*, together):
    story = Story(2)
    if together:
        story.call(0, "enter").call(1, "enter").answer(0, "enter").answer(1, "enter")
    else:
        story.did(0, "enter").did(1, "enter")
    return story.call(0, "leave").call(1, "leave").answer(0, "leave").answer(1, "leave")


def counted(total):
    key = {"key": 0, "timeout": 1.5}
    story = Story(2).did(0, "add", {**key, "value": 1}, {"key": 0, "value": 1})
    return story.did(1, "read", key, {"key": 0, "value": total})


def passed_latch(*, counted_by):
    """c2 passes a latch of 2 that so many had counted down."""
    latch = {"key": 1, "count": 2}
    story = Story(3)
    for process in range(counted_by):
        story.did(process, "count_down", {**latch, "timeout": 1.5})
    return story.did(2, "wait", {**latch, "timeout": 6.0})


def looks(*zxids):
    story = Story(1).did(0, "follow", None, {"session": "0x1", "view": 1})
    for zxid in zxids:
        story.did(0, "look", {"pause": 0.1}, {"view": 1, "nodes": {"n0": zxid}})
    return story


def listed(*addresses):
    story = Story(2).did(
        0, "register", {"address": "p0", "timeout": 3.0}, {"address": "p0", "session": "0x1"}
    )
    return story.did(1, "look", {"pause": 0.1}, {"addresses": list(addresses)})


def shared_out(*, at_once):
    """Both members have part a: one after the other, or at once, and both sessions live on."""

    def share(process, number):
        grant = granted(process, number)
        return {"session": grant["session"], "parts": {"a": grant}}

    story = Story(2).did(0, "acquire", {"timeout": 5.0}, share(0, 1))
    if not at_once:
        story.did(0, "release")
    story.did(1, "acquire", {"timeout": 5.0}, share(1, 2)).did(1, "release")
    if at_once:
        story.did(0, "release")
    for process, number in ((0, 3), (1, 4)):
        story.did(process, "acquire", {"timeout": 5.0}, share(process, number))
        story.did(process, "release")
    return story


def decided(*decisions):
    story = Story(2).did(0, "begin", {"key": "t0", "participants": ["c0", "c1"], "writes": None})
    for process in range(2):
        story.did(process, "vote", {"key": "t0", "value": "yes"})
    for process, decision in enumerate(decisions):
        value = {"key": "t0", "value": decision}
        story.did(process, "decide", {"key": "t0", "timeout": 2.0}, value)
    return story


def done_jobs(effects):
    story = Story(2).did(0, "submit", {"key": "p0-0", "timeout": 1.0})
    story.did(1, "claim", {"timeout": 1.0}, {"key": "p0-0", "token": 1})
    return story.did(0, "audit", None, {"effects": {"p0-0": effects}, "left": []})


def registered(*versions):
    """Two writes, and reads of these versions by processes and sessions of their own."""
    story = Story(2 + len(versions))
    for version in (0, 1):
        value = {"key": "r0", "value": f"v{version}"}
        told = {"key": "r0", "version": version, "session": "0x1", "zxid": 10 + version}
        story.did(0, "write", value, told)
    for process, version in enumerate(versions, 1):
        seen = {"version": version, "session": f"0x{process + 1}", "zxid": 10 + version}
        story.did(process, "read", {"key": "r0"}, {"key": "r0", "value": f"v{version}", **seen})
    return story


def appended(*read):
    story = Story(2).did(0, "append", {"key": "l0", "value": "p0"}, {"key": "l0", "value": "p0"})
    return story.did(1, "read", {"key": "l0"}, {"key": "l0", "value": list(read)})


def watched(*versions):
    """One session reads these versions of a znode, one after the other."""
    story = Story(2)
    for version in (0, 1):
        told = {"version": version, "zxid": 10 + version, "session": "0x1"}
        written = {"key": "w0", "value": f"v{version}"}
        story.did(0, "write", written, {**written, **told})
    for version in versions:
        story.did(1, "reconnect", {}, {})
        seen = {"version": version, "zxid": 10 + version, "session": "0x2"}
        story.did(1, "read", {"key": "w0"}, {"key": "w0", "value": f"v{version}", **seen})
    return story


def made(owner):
    story = Story(2).did(0, "create", {"name": "e0"}, {"name": "e0", "session": "0x1"})
    return story.did(1, "look", None, {"owners": {"e0": owner}, "session": "0x2"})


def numbers(*drawn):
    story = Story(2)
    for place, number in enumerate(drawn):
        story.did(place % 2, "generate", None, number)
    return story


def written_together(one, other):
    story = Story(2).did(0, "write", {"value": "v0"}, {"version": 1})
    story.did(0, "write", {"value": "v1"}, {"version": 2})
    return story.did(1, "read", None, {"values": {"a": one, "b": other}, "version": 2})


def guarded(*, served):
    """A znode that all may read is written by another client, and that is refused or not."""
    sizes = {"ephemeralOwner": 0, "dataLength": 2, "numChildren": 0}
    stat = {"czxid": 9, "mzxid": 9, "pzxid": 9, "ctime": 1, "mtime": 1, **sizes}
    stat |= dict.fromkeys(("version", "cversion", "aversion"), 0)
    made = {"name": "z0", "value": "v0", "acl": [[1, "world", "anyone"]]}
    story = Story(2).did(0, "make", made, {"name": "z0", "stat": stat})
    story.call(1, "set", {"name": "z0", "value": "v1"})
    if served:
        changed = stat | {"mzxid": 10, "mtime": 2, "version": 1}
        return story.answer(1, "set", {"name": "z0", "stat": changed})
    return story.add(10 + len(story.ops), 1, "fail", "set", error="no authority")


def replicated(*read):
    story = Story(2).did(0, "append", 7, {"epoch": 1, "at": 0})
    return story.did(1, "read", None, list(read))


def taken_over(at):
    story = Story(2).did(0, "own", {"timeout": 1.0}, {"epoch": 1, "at": 0})
    story.did(0, "append", 7, {"epoch": 1, "at": 0})
    story.did(1, "own", {"timeout": 1.0}, {"epoch": 2, "at": at})
    return story.did(1, "read", None, [7])


def cached(version):
    """A client writes twice, and another then reads this version from its cache."""
    key, timeout = {"key": "config"}, {"timeout": 1.0}
    told = {"cached": False, "session": "0x1"}
    story = Story(2)
    for number in (1, 2):
        asked = {**key, **timeout, "data": f"v{number}", "expected": None}
        story.did(0, "write", asked, {**key, **told, "version": number})
    read = {**key, "version": version, "data": f"v{version}", "cached": True, "session": "0x2"}
    return story.did(1, "read", {**key, **timeout}, read)


LONE = {
    "lock": (turns(5, 6), turns(6, 5), "token-regression"),
    "read-write": (turns(5, 6, mode="write"), turns(6, 5, mode="write"), "token-regression"),
    "semaphore": (permits(2), permits(3), "split-brain"),
    "queue": (queued("a", "b"), queued("a", "b", "a"), "duplicate-element"),
    "priority-queue": (
        queued("a", "b", priority=True),
        queued("b", "a", priority=True),
        "out-of-order",
    ),
    "election": (
        turns(5, 6, f="campaign", release="resign"),
        turns(6, 5, f="campaign", release="resign"),
        "token-regression",
    ),
    "barrier": (gate(opened=True), gate(opened=False), "early-entry"),
    "double-barrier": (round_of_two(together=True), round_of_two(together=False), "early-entry"),
    "counter": (counted(1), counted(7), "miscount"),
    "latch": (passed_latch(counted_by=2), passed_latch(counted_by=1), "early-entry"),
    "breaking": (turns(5, 6), turns(6, 5), "token-regression"),
    "view": (looks(5, 6), looks(6, 5), "session-order"),
    "registry": (listed("p0"), listed("p0", "p0"), "ghost-entry"),
    "partitioner": (shared_out(at_once=False), shared_out(at_once=True), "shared-partition"),
    "two-phase-commit": (
        decided("commit", "commit"),
        decided("commit", "abort"),
        "two-decisions",
    ),
    "jobs": (done_jobs(1), done_jobs(2), "repeated-effect"),
    "register": (registered(1, 1), registered(1, 0), "not-linearizable"),
    "append": (appended("p0"), appended(), "not-linearizable"),
    "watch": (watched(0, 1), watched(1, 0), "session-order"),
    "ephemeral": (made("0x1"), made(None), "lingering-ephemeral"),
    "sequence": (numbers(3, 4), numbers(3, 3), "duplicate-sequence"),
    "multi": (written_together("v1", "v1"), written_together("v1", "v0"), "torn-multi"),
    "znode": (guarded(served=False), guarded(served=True), "unauthorised-access"),
    "failover": (replicated(7), replicated(), "lost-write"),
    "sealed-log": (taken_over(1), taken_over(0), "lost-write"),
    "chubby": (cached(2), cached(1), "stale-read"),
}
"""Workload -> a sound history, a broken one, and the anomaly that breaks it."""
