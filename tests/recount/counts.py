"""Every count of ``results.json``, counted again: (family, check, stat) -> from a run's files.

``ANY`` stands for every family. What is no count has its reason in ``NOT_COUNTS``.
"""

from collections import Counter
from itertools import pairwise

from tests.recount.faults import proven
from tests.recount.holds import SLACK, ended_by_expiry, grants_of, handovers, stale_actions

ANY = "any"
CONTENDED = {
    "lock": ("acquire", "release"),
    "read-write": ("acquire", "release"),
    "semaphore": ("acquire", "release"),
    "breaking": ("acquire", "release"),
    "election": ("campaign", "resign"),
    "chubby": ("acquire", "release"),
}
PERMITS = {"semaphore": 2}
COUNTS = {}

NOT_COUNTS = {
    "algorithm": "the name of what decided",
    "longest_wait_in_turn_ms": "a length of time, tested on histories made by hand",
    "longest_calm_overrun_ms": "a length of time, tested on histories made by hand",
    "longest_ms": "a length of time, recounted below as the longest of its operations",
    "obeyed within their hang": "a join of three clocks, tested on histories made by hand",
    "locks that passed on without waiting": "the same",
    ("removals", "quick"): "the same",
    ("lock-delay", "failed_holders_with_successors"): "a join of two clocks, tested by hand",
    ("lock-delay", "shortest_wait_ms"): "a length of time, tested on histories made by hand",
    ("holds by model", "model"): "the name of what decided",
    ("holds by model", "decided"): "the model's answer, tested on histories made by hand",
    ("servers", "not_compared"): "names and reasons; empty if all were compared",
    ("server rules", "undecided"): "what rules do not decide, tested on histories made by hand",
    ("server rules", "mistaken"): "requests of one number, tested on histories made by hand",
    ("session-guarantees", "operations"): "rows that are left once connections are told apart",
}


def counts(families, check, stat):
    """Enters a recount; ``families`` is one, several, or ``ANY``."""

    def enter(count):
        for family in [families] if isinstance(families, str) else families:
            assert (family, check, stat) not in COUNTS
            COUNTS[family, check, stat] = count
        return count

    return enter


def grants(run):
    family = run.results["workload"]
    return grants_of(run, *CONTENDED[family], counted=family != "election")


# -- what all families have ---------------------------------------------------------------------


@counts(ANY, "exercise", "leader changes")
def _(run):
    return len({txn.zxid >> 32 for txn in run.log}) - 1


@counts(ANY, "exercise", "faults")
def _(run):
    return sum(call["f"] == "start" for call, _ in run.calls_of(nemesis=True))


counts(ANY, "exercise", "faults in force, with operations inside, and healed")(
    lambda run: len(proven(run))
)


counts(ANY, "servers", "compared")(
    lambda run: len(list(run.directory.glob("nodes/*/version-2/currentEpoch")))
)


def expired_sessions(run):
    return len(run.expired)


def expired_sessions_of_clients(run):
    ours = {r["value"].get("session") for r in run.told("session")}
    return sum(session in ours for session in run.expired)


for name in ("expired sessions", "sessions that expired"):
    counts(ANY, "exercise", name)(expired_sessions)
for name in ("sessions of followers that expired", "sessions of clients that expired"):
    counts(ANY, "exercise", name)(expired_sessions_of_clients)

ZNODES = ("register", "append", "watch", "ephemeral", "sequence", "multi", "znode")
counts(ZNODES, "exercise", "operations answered")(
    lambda run: len([c for c in run.calls if c.type == "ok"])
)


# -- contention ---------------------------------------------------------------------------------

counts(CONTENDED, "exclusion", "holds")(lambda run: len(grants(run)))
counts(CONTENDED, "exclusion", "actions")(lambda run: sum(len(g.acts) for g in grants(run)))


def contended_handovers(run):
    return handovers(grants(run), PERMITS.get(run.results["workload"], 1))


counts(CONTENDED, "exclusion", "handovers")(contended_handovers)
counts(CONTENDED, "exercise", "contended handovers")(contended_handovers)


def expiries(run):
    return ended_by_expiry(run, grants(run))


counts(CONTENDED, "exclusion", "expiries_while_holding")(expiries)
counts(CONTENDED, "exercise", "expiries while holding")(expiries)
counts(CONTENDED, "exclusion", "accepted_actions_of_stale_holders")(
    lambda run: stale_actions(run, grants(run))
)


def given_up_at(call):
    limit = (call.value or {}).get("timeout")
    return call.returned if limit is None else call.called + limit * 1e9


class Woken:
    """Whom the end of a hold's node woke: clients with an acquire open that were told of it.

    The lines are sequential: a path is that of one hold.
    """

    def __init__(self, run):
        self._run = run
        self._calls = run.of(CONTENDED[run.results["workload"]][0])
        self.nodes = {g.answer["node"]: g for g in grants(run) if g.answer.get("node")}
        self.clients = {path: {} for path in self.nodes}
        self.others = 0
        folders = {path.rpartition("/")[0] for path in self.nodes}
        for record in run.told("link", "watch"):
            path, client = record["value"]["path"], record["value"]["client"]
            waiting = any(
                c.client == client and c.called <= record["time"] <= c.returned for c in self._calls
            )
            if not waiting or record["value"]["event"] != "deleted":
                continue
            if path not in self.nodes:
                self.others += path.rpartition("/")[0] in folders
            elif client != self.nodes[path].client:
                self.clients[path].setdefault(client, record["time"])

    def left_over(self, path):
        """Those that had given up an attempt since the node was made: it may have left a watch.

        One that is about to fail has given up when its timeout was over.
        """
        several = PERMITS.get(self._run.results["workload"], 1) > 1
        made = next(life["ms"] for life in self._run.nodes if life["path"] == path)
        since = self._run.on_our_clock(made) - SLACK
        return {
            client
            for client, time in self.clients[path].items()
            if any(
                c.client == client
                and (
                    (since <= c.returned < time and (several or c.type != "ok"))
                    or (given_up_at(c) < time <= c.returned and c.type != "ok")
                )
                for c in self._calls
            )
        }

    def most(self):
        """The most that one end woke for sure, readers counted as one."""
        largest = 0
        for path, woken in self.clients.items():
            sure = woken.keys() - self.left_over(path)
            readers = sum(
                any(
                    c.client == client
                    and c.called <= woken[client] <= c.returned
                    and (c.value or {}).get("mode") == "read"
                    for c in self._calls
                )
                for client in sure
            )
            largest = max(largest, len(sure) - max(0, readers - 1))
        return largest

    def in_all(self):
        return sum(map(len, self.clients.values()))


counts(CONTENDED, "herd", "releases")(lambda run: len(Woken(run).nodes))
counts(CONTENDED, "herd", "wakeups")(lambda run: Woken(run).in_all())
counts(CONTENDED, "herd", "largest")(lambda run: Woken(run).most())
counts(CONTENDED, "herd", "by_waiters_that_left")(lambda run: Woken(run).others)


@counts(CONTENDED, "herd", "left_over")
def _(run):
    woken = Woken(run)
    return sum(len(woken.left_over(path)) for path in woken.nodes)


@counts(CONTENDED, "herd", "per_release")
def _(run):
    woken = Woken(run)
    return round(woken.in_all() / len(woken.nodes), 3)


@counts(CONTENDED, "holds by model", "holds")
def _(run):
    """Grants of nodes that their clients named for the first time, in sessions that they named."""
    named = [(g.client, *map(g.answer.get, ("session", "node", "token"))) for g in grants(run)]
    return len({(client, *rest) for client, session, *rest in named if session and rest[0]})


counts(CONTENDED, "tokens", "tokens")(
    lambda run: sum(g.answer.get("token") is not None for g in grants(run))
)


def is_numbered(grant):
    return (grant.answer.get("node") or "")[-10:].isdigit()


counts(CONTENDED, "order", "judged")(lambda run: sum(map(is_numbered, grants(run))))
counts(CONTENDED, "order", "not judged")(
    lambda run: sum(not is_numbered(grant) for grant in grants(run))
)


def in_the_end(run, *functions):
    return [c for c in run.of(*functions) if c.called >= run.final]


def clients_of(calls):
    return {call.client for call in calls}


def final_attempts(run):
    f = CONTENDED.get(run.results["workload"], ("acquire",))[0]
    return in_the_end(run, f)


LIVE = (*CONTENDED, "partitioner")
counts(LIVE, "liveness", "final_clients")(lambda run: len(clients_of(final_attempts(run))))
counts(LIVE, "liveness", "final_granted")(
    lambda run: len(clients_of(c for c in final_attempts(run) if c.type == "ok"))
)


ACTORS = (*CONTENDED, "partitioner", "double-barrier")
BELIEVERS = {**CONTENDED, "double-barrier": ("enter", "leave")}
ENTERED_ONCE = ("election", "double-barrier")


@counts(ACTORS, "entitlement", "entered_again")
def _(run):
    """Calls that came to an end of clients that held and believed when they called.

    Clients whose session an operator put on the blacklist were asked to let go: not theirs.
    """
    dismissed = {call.answer["session"] for call in run.of("break", type="ok")}
    f, release = BELIEVERS.get(run.results["workload"], ("acquire", "release"))
    held = grants_of(run, f, release, counted=run.results["workload"] not in ENTERED_ONCE)
    held = [grant for grant in held if grant.answer.get("session") not in dismissed]
    count = 0
    for call in run.of(f):
        own = [g for g in held if g.client == call.client and g.granted <= call.called]
        if own and call.error != "open" and call.called < own[-1].believed_until:
            count += not any(since <= call.called < until for since, until in own[-1].gaps)
    return count


@counts(CONTENDED, "answers to holders", "releases")
def _(run):
    """Releases that said ok or failed."""
    _, release = CONTENDED[run.results["workload"]]
    return sum(call.type in ("ok", "fail") for call in run.of(release))


@counts(CONTENDED, "answers to holders", "needless")
def _(run):
    """Those before which their client's latest acquires and releases leave nothing to release."""
    f, release = CONTENDED[run.results["workload"]]
    once = run.results["workload"] in ENTERED_ONCE
    count = 0
    for client in {call.client for call in run.calls}:
        held, unsure = 0, False
        for call in (each for each in run.calls if each.client == client):
            if call.f not in (f, release):
                continue
            if call.type not in ("ok", "fail"):
                unsure = True
            elif call.f == f:
                held += call.type == "ok"
            else:
                count += not held and not unsure
                held = max(0, held - 1) if call.type == "ok" and not once else 0
                unsure = unsure and call.type == "fail"
    return count


counts(ANY, "timeouts", "calls_with_a_timeout")(
    lambda run: sum(type(call.value) is dict and "timeout" in call.value for call in run.calls)
)
counts(ACTORS, "exercise", "accepted actions of holders")(
    lambda run: sum(record["value"]["accepted"] for record in run.told("witness", "act"))
)


# -- election -----------------------------------------------------------------------------------


def sights(run):
    tokens = {}
    return [c for c in run.of("observe", type="ok") if c.answer], tokens


counts("election", "observations", "observations of a leader")(lambda run: len(sights(run)[0]))


def acknowledged_sights(run):
    return sum(c.answer["acknowledged"] for c in sights(run)[0])


counts("election", "observations", "of one that had acknowledged")(acknowledged_sights)
counts("election", "exercise", "acknowledged leaders observed")(acknowledged_sights)


counts("election", "sights", "looks")(lambda run: len(run.of("observe", type="ok")))


@counts("election", "acknowledgements", "acknowledgements")
def _(run):
    # An acknowledgement's data begins with its epoch; nothing else below this folder has any.
    made = [life for life in run.nodes if "-acknowledged/" in life["path"]]
    return sum(life["data"].split(b" ")[0].split(b":")[0].isdigit() for life in made)


# -- breaking -----------------------------------------------------------------------------------

counts("breaking", "told removals", "told of")(
    lambda run: sum(call.answer["removed"] for call in run.of("free", type="ok"))
)
counts("breaking", "blacklisting", "sessions put on the list")(
    lambda run: len(run.of("break", type="ok"))
)


@counts("breaking", "blacklisting", "ended by their clients")
def _(run):
    named = [c.answer["session"] for c in run.of("break", type="ok")]
    return sum(s in run.closes and s not in run.expired for s in named)


CLAIMS = {"path": "/rumpus/jobs/board/claims", "mark": ""}


def removed_by_others(run):
    """Nodes of the line deleted in another client's session than the one that made them."""
    owners = {r["value"].get("session"): r["value"]["client"] for r in run.told("session")}
    line = CLAIMS if run.results["workload"] == "jobs" else run.test["line"]
    found = []
    for life in run.nodes:
        folder, _, name = life["path"].rpartition("/")
        end = life["end"]
        if folder != line["path"] or line["mark"] not in name or end is None or end.kind == -11:
            continue
        if owners.get(life["by"]) != owners.get(end.session):
            found.append(life)
    return found


TAKEN = ("breaking", "jobs")
counts(TAKEN, "removals", "removed by others")(lambda run: len(removed_by_others(run)))


@counts(TAKEN, "removals", "of dead processes")
def _(run):
    killed, sessions = {}, {}
    for record in run.told("session"):
        client, session = record["value"]["client"], record["value"].get("session")
        if record["f"] == "exited":
            killed.update(dict.fromkeys(sessions.pop(client, ()), record["time"]))
        elif session:
            sessions.setdefault(client, set()).add(session)
    dead = {c.answer["token"] for c in run.of("die", type="ok")}
    return sum(life["czxid"] in dead or life["by"] in killed for life in removed_by_others(run))


# -- partitioner --------------------------------------------------------------------------------


def shares(run):
    """Part -> its grants in order, each with the answer of that part."""
    found = {}
    for grant in grants_of(run, "acquire", "release"):
        for part, answer in (grant.answer.get("parts") or {}).items():
            found.setdefault(part, []).append((grant, answer))
    return found


counts("partitioner", "shares", "holds")(lambda run: sum(map(len, shares(run).values())))


def changes_of_owner(run):
    return sum(
        earlier.client != later.client
        for grants in shares(run).values()
        for (earlier, _), (later, _) in pairwise(grants)
    )


counts("partitioner", "shares", "handovers")(changes_of_owner)
counts("partitioner", "exercise", "parts that got another owner")(changes_of_owner)


def expired_shares(run):
    count = 0
    for grants in shares(run).values():
        for grant, answer in grants:
            told = {**answer, "session": answer["session"] or grant.answer.get("session")}
            grant.answer = {**grant.answer, **told}
            count += ended_by_expiry(run, [grant])
    return count


counts("partitioner", "shares", "expiries_while_holding")(expired_shares)
counts("partitioner", "exercise", "expiries while holding")(expired_shares)
counts("partitioner", "shares", "tokens")(
    lambda run: sum(
        answer["token"] is not None for grants in shares(run).values() for _, answer in grants
    )
)


@counts("partitioner", "sizes", "shares")
def _(run):
    return len(run.of("acquire", type="ok"))


@counts("partitioner", "sizes", "empty shares")
def _(run):
    return sum(not call.answer.get("parts") for call in run.of("acquire", type="ok"))


counts("partitioner", "ownership", "members")(
    lambda run: len(clients_of(c for c in in_the_end(run, "own") if c.type == "ok"))
)


# -- queues -------------------------------------------------------------------------------------

QUEUES = ("queue", "priority-queue")


def takes(run):
    """Element -> the dequeues that gave it to somebody."""
    found = {}
    for call in run.of("dequeue", type="ok"):
        if call.answer and call.answer.get("value") is not None:
            found.setdefault(call.answer["value"], []).append(call)
    return found


def put(run):
    return {c.value["value"]: c for c in run.of("enqueue")}


counts(QUEUES, "elements", "put")(lambda run: len(run.of("enqueue", type="ok")))
counts(QUEUES, "elements", "came out")(lambda run: len(takes(run)))
counts(QUEUES, "exercise", "elements that came out")(lambda run: len(takes(run)))
counts(QUEUES, "elements", "came out again")(
    lambda run: sum(len(calls) > 1 for calls in takes(run).values())
)


@counts(QUEUES, "elements", "left")
def _(run):
    looks = run.of("inspect", type="ok")
    return len(looks[-1].answer["elements"]) if looks else None


@counts(QUEUES, "exercise", "elements that somebody waited for")
def _(run):
    known = put(run)
    return sum(
        value in known and any(call.called < known[value].called for call in calls)
        for value, calls in takes(run).items()
    )


def final_takers(run):
    return in_the_end(run, "dequeue")


counts(QUEUES, "waiting", "final_clients")(lambda run: len(clients_of(final_takers(run))))
counts(QUEUES, "waiting", "final_served")(
    lambda run: len(
        clients_of(
            c
            for c in final_takers(run)
            if c.type == "ok" and (c.answer or {}).get("value") is not None
        )
    )
)


@counts(QUEUES, "waiting", "slept")
def _(run):
    (found,) = [c for c in run.results["checks"] if c["name"] == "waiting"]
    return sum(a["kind"] == "stuck-waiter" for a in found["anomalies"])


for family, name in (("queue", "fifo-queue"), ("priority-queue", "priority-queue")):
    counts(family, name, "operations")(lambda run: len(told(run, "enqueue", "dequeue")))


# -- models -------------------------------------------------------------------------------------


def told(run, *functions):
    """Operations that a model is asked about: a failure that says nothing is left out."""
    return run.of(*functions)


for family, check, functions in (
    ("append", "append", ("append", "read")),
    ("failover", "append", ("append", "read")),
    ("sealed-log", "append", ("append", "read")),
    ("barrier", "gate", ("create", "remove", "wait")),
    ("counter", "counter", ("add", "read")),
    ("multi", "versioned-register", ("read", "write", "write_if")),
    ("register", "versioned-register", ("read", "write", "cas")),
    ("register", "sequential-consistency", ("read", "write", "cas")),
    ("watch", "sequential-consistency", ("read", "write", "watch")),
    ("sequence", "unique-ids", ("generate",)),
    ("two-phase-commit", "atomic-commitment", ("vote", "decide")),
    ("double-barrier", "double-barrier", ("enter", "leave")),
):
    counts(family, check, "operations")(lambda run, functions=functions: len(told(run, *functions)))


# -- barriers and counters ----------------------------------------------------------------------


@counts("barrier", "exercise", "waiters that were held up and passed")
def _(run):
    removes = [(c.value["key"], c.called) for c in run.of("remove")]
    return sum(
        any(
            key == call.value["key"] and call.called <= time < call.returned
            for key, time in removes
        )
        for call in run.of("wait", type="ok")
        if call.called < run.final
    )


@counts("latch", "latches", "held_up")
@counts("latch", "exercise", "waiters that were held up and passed")
def _(run):
    def closed(wait):
        before = [
            c
            for c in run.of("count_down")
            if c.type != "fail" and c.called < wait.called and c.value["key"] == wait.value["key"]
        ]
        return len(clients_of(before)) < wait.value["count"]

    return sum(closed(wait) for wait in run.of("wait", type="ok"))


def final_waits(run):
    first = {"barrier": "wait", "double-barrier": "enter"}[run.results["workload"]]
    return len(clients_of(in_the_end(run, first)))


def is_left_waiting(call):
    """Whether it is a ``leave`` of the last rounds of a double barrier, and not finished."""
    return call.f == "leave" and call.type == "info" and call.value["timeout"] >= 15


BARRIERS = ("barrier", "double-barrier")
counts(BARRIERS, "waiters", "final clients")(final_waits)


@counts(BARRIERS, "waiters", "stuck")
def _(run):
    waits = {"barrier": ["wait"], "double-barrier": ["enter", "leave"]}[run.results["workload"]]
    stuck = sum(
        len(
            clients_of(in_the_end(run, f))
            - clients_of(c for c in in_the_end(run, f) if c.type == "ok")
            | clients_of(c for c in in_the_end(run, f) if is_left_waiting(c))
        )
        for f in waits
    )
    return stuck + sum(
        c.answer["waiting"] > 0 for c in in_the_end(run, "left-over") if c.type == "ok"
    )


@counts("double-barrier", "lateness", "late_beliefs")
def _(run):
    return sum(
        (txn := run.closes.get(stay.answer.get("session"))) is not None
        and stay.believed_until > run.on_our_clock(txn.ms) + SLACK
        for stay in grants_of(run, *BELIEVERS["double-barrier"], counted=False)
    )


def parties(run):
    """How many come together: what each ``enter`` says, or all clients."""
    (number,) = {c.value.get("parties", run.clients) for c in run.of("enter")}
    return number


counts("double-barrier", "rounds", "enters")(
    lambda run: len([c for c in run.of("enter") if c.type != "fail"])
)


@counts("double-barrier", "rounds", "stays")
def _(run):
    count, before = 0, {}
    for call in run.of("enter", "leave"):
        last = before.get(call.process)
        count += call.f == "leave" and call.type == "ok" and last == ("enter", "ok")
        before[call.process] = (call.f, call.type)
    return count


counts("double-barrier", "exercise", "rounds that were passed")(
    lambda run: len(run.of("leave", type="ok")) // parties(run)
)
for check in ("exercise", "totals"):
    counts("counter", check, "additions")(lambda run: len(run.of("add", type="ok")))
counts("counter", "exercise", "counters read by everybody at the end")(
    lambda run: len(
        {(c.client, c.value["key"]) for c in run.of("read", type="ok") if c.returned >= run.final}
    )
)


# -- two-phase commit ---------------------------------------------------------------------------


def decisions(run):
    """Transaction -> what it was told to have come to, with who was told when."""
    found = {}
    for call in run.of("decide", "outcomes", type="ok"):
        told = (
            {call.value["key"]: call.answer["value"]}
            if call.f == "decide"
            else call.answer["outcomes"]
        )
        for key, decision in told.items():
            found.setdefault(key, []).append((call.returned, decision, call.client))
    return found


def ended(run, decision):
    return sum({what for _, what, _ in each} == {decision} for each in decisions(run).values())


TPC = "two-phase-commit"
counts(TPC, "commitments", "transactions")(
    lambda run: len({c.value["key"] for c in run.of("begin")})
)
for check in ("commitments", "exercise"):
    counts(TPC, check, "commits")(lambda run: ended(run, "commit"))
    counts(TPC, check, "aborts")(lambda run: ended(run, "abort"))


@counts(TPC, "votes", "votes compared")
def _(run):
    """Acknowledged votes of sites that have a node for it by the servers' logs."""
    there = {path for txn in run.log for _, path, _ in txn.changes}
    return sum(
        f"/rumpus/two-phase-commit/{c.value['key']}/vote-c{c.client}" in there
        for c in run.of("vote", type="ok")
    )


def begun(run):
    return {c.value["key"]: c for c in run.of("begin")}


def without_coordinator(run):
    """Transactions whose decision the servers logged of another client than began them."""
    clients = {r["value"].get("session"): r["value"]["client"] for r in run.told("session")}
    writers = {}
    for txn in run.log:
        for what, path, data in txn.changes:
            key, _, node = path.removeprefix("/rumpus/two-phase-commit/").partition("/")
            known = writers.setdefault(key, {}) if node.startswith("decision") else {}
            if what != "delete" and data in (b"commit", b"abort") and data not in known:
                known[data] = clients.get(txn.session)
    return sum(
        key in begun(run)
        and bool(set(wrote.values()) - {None})
        and begun(run)[key].client not in wrote.values()
        for key, wrote in writers.items()
    )


def dead_coordinators(run):
    calls = begun(run).values()
    return sum(c.type == "ok" and c.value["site"] != c.value["coordinator"] for c in calls)


for check in ("commitments", "exercise"):
    counts(TPC, check, "coordinators dead to the end")(dead_coordinators)
for check in ("commitments", "exercise"):
    counts(TPC, check, "decided without the coordinator")(without_coordinator)


# -- discovery, views, jobs, failover, plain znodes ---------------------------------------------


@counts("registry", "lists", "lists")
def _(run):
    calls = run.of("discover", "look", "gather", type="ok")
    return sum(f in c.answer for c in calls for f in ("addresses", "discovered", "seen"))


counts("registry", "discovery", "discoveries")(
    lambda run: sum(c.answer["settled"] for c in run.of("discover", type="ok"))
)


@counts("registry", "discovery", "entries")
def _(run):
    return sum(life["path"].startswith("/rumpus/registry/") for life in run.nodes)


counts("registry", "presence", "gathered")(
    lambda run: len(clients_of(c for c in in_the_end(run, "gather") if c.type == "ok"))
)
counts("registry", "exercise", "registrations")(lambda run: len(run.of("register", type="ok")))


def converged(run):
    return [c for c in in_the_end(run, "converge") if c.type == "ok"]


counts("view", "convergence", "converged")(
    lambda run: sum(c.answer["seen"] == c.answer["there"] for c in converged(run))
)
counts("view", "convergence", "stale")(
    lambda run: sum(c.answer["seen"] != c.answer["there"] for c in converged(run))
)


def looks_with_news(run):
    shown, count = {}, 0
    for call in run.of("look", type="ok"):
        place = call.client, call.answer["view"]
        count += (call.answer["nodes"] or {}) != shown.get(place, {})
        shown[place] = call.answer["nodes"] or {}
    return count


counts("view", "view order", "looks_with_news")(looks_with_news)
counts("view", "exercise", "looks that showed something new")(looks_with_news)

counts("jobs", "job effects", "submitted")(
    lambda run: len({c.value["key"] for c in run.of("submit", type="ok")})
)
counts("jobs", "job effects", "claims")(lambda run: len(run.of("claim", type="ok")))
counts("jobs", "job effects", "claimed again")(
    lambda run: sum(c.answer["token"] > 1 for c in run.of("claim", type="ok"))
)
counts("jobs", "job effects", "forgotten")(lambda run: len(run.of("forget", type="ok")))
counts("jobs", "job effects", "asked")(lambda run: len(run.of("ask", type="ok")))
for check in ("job effects", "exercise"):
    counts("jobs", check, "told")(lambda run: len(run.of("await", type="ok")))


def effects(run):
    """Of each job as many as the audit saw, or the servers logged, whichever is more."""
    logged = Counter(
        name.partition(":")[0]
        for life in run.nodes
        if (name := life["path"].rpartition("/")[2])
        and life["path"].startswith("/rumpus/jobs/effects")
        and ":" in name
    )
    for call in run.of("audit", type="ok"):
        for key, number in call.answer["effects"].items():
            logged[key] = max(logged[key], number)
    return sum(logged.values())


for check in ("job effects", "exercise"):
    counts("jobs", check, "effects")(effects)


@counts("jobs", "exercise", "expiries of workers at a job")
def _(run):
    return sum(
        "/claims/" in life["path"]
        and life["by"] in run.expired
        and (life["end"] is None or life["end"].zxid == run.expired[life["by"]].zxid)
        for life in run.nodes
    )


def beliefs(run):
    """Who came to believe that it is the primary, from when to when, and in which session."""
    found, since = [], {}
    for record in run.told("session"):
        client, value = record["value"]["client"], record["value"]
        until = since[client][2] if client in since else None
        late = until is not None and until < record["time"]
        if client in since and (late or record["f"] in ("doubts", "exited")):
            began, session, _ = since.pop(client)
            found.append((began, record["time"] if not late else until, client, session))
        if record["f"] == "believes":
            began, session, until = since.get(client, (record["time"], value.get("session"), None))
            since[client] = began, session, value.get("until", until)
    found += [(began, run.end, client, session) for client, (began, session, _) in since.items()]
    return sorted(found)


counts("failover", "exclusion", "holds")(lambda run: len(beliefs(run)))
counts("failover", "exclusion", "handovers")(
    lambda run: sum(
        later[2] != earlier[2] and later[0] < earlier[1]
        for earlier, later in pairwise(beliefs(run))
    )
)


@counts("failover", "exclusion", "expiries_while_holding")
def _(run):
    """Sessions whose expiry took the first node of the line, of clients that had believed."""
    folder, mark = run.test["line"]["path"] + "/", run.test["line"]["mark"]
    line = [life for life in run.nodes if life["path"].startswith(folder) and mark in life["path"]]
    count = 0
    for session, txn in run.expired.items():
        standing = [
            life
            for life in line
            if life["czxid"] < txn.zxid and (life["end"] is None or life["end"].zxid >= txn.zxid)
        ]
        first = min(standing, key=lambda life: life["path"][-10:], default=None)
        believed = any(each[3] == session for each in beliefs(run))
        count += first is not None and first["by"] == session and believed
    return count


for name in ("actions", "accepted_actions_of_stale_holders"):
    counts("failover", "exclusion", name)(lambda run: len(run.told("witness")))
LOGS = ("failover", "sealed-log")
counts(LOGS, "replication", "writes")(lambda run: len(run.of("append")))
counts(LOGS, "replication", "acknowledged")(lambda run: len(run.of("append", type="ok")))
counts(LOGS, "exercise", "acknowledged writes")(lambda run: len(run.of("append", type="ok")))
counts(LOGS, "replication", "unknown")(lambda run: len(run.of("append", type="info")))
counts(LOGS, "replication", "reads")(lambda run: len(run.of("read", "converge", type="ok")))


def primaries(run):
    return len({c.answer["epoch"] for c in run.of("append", type="ok")})


counts(LOGS, "replication", "primaries")(primaries)
counts("failover", "exercise", "fail-overs")(lambda run: primaries(run) - 1)
counts(LOGS, "recovery", "final_writers")(
    lambda run: len(clients_of(c for c in in_the_end(run, "append") if c.type == "ok"))
)


def late_appends(run, outcome):
    """Appends called after the takeover of a later owner than the one that their client was last.

    Whoever has had an ``own`` without an answer, or was closed or killed, is not counted until its
    next one.
    """
    ended = [
        (record["time"], record["value"]["client"], None)
        for word in ("closed", "exited")
        for record in run.told("session", word)
    ]
    owned = run.of("own", type="ok")
    unsure = run.of("own", type="info")
    count = 0
    for call in run.of("append", type=outcome):
        begun = [
            (own.returned, own.client, own.answer["epoch"] if own.type == "ok" else None)
            for own in (*owned, *unsure)
        ]
        before = [
            (time, epoch)
            for time, client, epoch in (*begun, *ended)
            if client == call.client and time <= call.called
        ]
        epoch = max(before, key=lambda each: each[0], default=(0, None))[1]
        later = (own.answer["epoch"] for own in owned if own.returned < call.called)
        count += epoch is not None and max(later) > epoch
    return count


for stat, outcome in (("late", "ok"), ("refused", "fail"), ("unsure", "info")):
    counts("sealed-log", "takeovers", stat)(lambda run, outcome=outcome: late_appends(run, outcome))
counts("sealed-log", "exercise", "late appends that were refused")(
    lambda run: late_appends(run, "fail")
)
for check in ("takeovers", "exercise"):
    counts("sealed-log", check, "takeovers")(lambda run: len(run.of("own", type="ok")))
counts("multi", "torn transactions", "reads")(lambda run: len(run.of("read", type="ok")))
counts("sequence", "growth", "numbers")(lambda run: len(run.of("generate", type="ok")))
counts("ephemeral", "ephemeral lives", "looks")(lambda run: len(run.of("look", type="ok")))
counts("watch", "missed changes", "waits")(
    lambda run: len([c for c in run.of("await") if c.error != "open"])
)


def keys_told(run):
    """Of how many keys a change was told."""
    return len({c.value["key"] for c in run.of("await", type="ok")})


counts("watch", "missed changes", "keys_told")(keys_told)


# -- chubby -------------------------------------------------------------------------------------


def verified(run, *, valid):
    """Answers about sequencers that a grant gave out."""
    given = {c.answer.get("sequencer") for c in run.of("acquire", type="ok")}
    asked = [c for c in run.of("verify", type="ok") if c.value["sequencer"] in given]
    return sum(c.answer["valid"] is valid for c in asked if c.value.get("by") != "elsewhere")


def counts_of_chubby(check, stat, need, count):
    """A count that is also one of what must have happened."""
    counts("chubby", check, stat)(count)
    if need:
        counts("chubby", "exercise", need)(count)


for check, stat, need, count in (
    (
        "sequencers",
        "called_valid",
        "sequencers called valid",
        lambda run: verified(run, valid=True),
    ),
    (
        "sequencers",
        "called_stale",
        "sequencers called stale",
        lambda run: verified(run, valid=False),
    ),
    ("file contents", "reads", "", lambda run: len(run.of("read", type="ok"))),
    (
        "file contents",
        "reads_from_cache",
        "reads from the cache",
        lambda run: sum(c.answer["cached"] for c in run.of("read", type="ok")),
    ),
    (
        "file contents",
        "writes",
        "writes of files",
        lambda run: len(run.of("write", "publish", type="ok")),
    ),
    (
        "file contents",
        "compared_writes",
        "writes with a generation check",
        lambda run: sum(c.value.get("expected") is not None for c in run.of("write", type="ok")),
    ),
    (
        "file contents",
        "events",
        "changes that a client was told of",
        lambda run: len(run.of("await", type="ok")),
    ),
    (
        "guarded writes",
        "accepted",
        "accepted writes with a sequencer",
        lambda run: len(run.of("store", "publish", type="ok")),
    ),
    (
        "guarded writes",
        "refused",
        "",
        lambda run: sum(c.error == "refused" for c in run.of("store", "publish", type="fail")),
    ),
    ("generation numbers", "stats", "", lambda run: len(run.of("stat", type="ok"))),
    (
        "generation numbers",
        "exclusive_holds",
        "",
        lambda run: sum(g.answer.get("token") is not None for g in grants(run)),
    ),
    (
        "leases",
        "calls_on_handles",
        "",
        lambda run: sum(
            c.answer["session"] is not None for c in run.of("read", "stat", "write", type="ok")
        ),
    ),
    ("missed changes", "waits", "", lambda run: sum(c.error != "open" for c in run.of("await"))),
    ("missed changes", "keys_told", "kinds of change that were told", keys_told),
    (
        "handle rights",
        "misuses",
        "states in which a handle was misused",
        lambda run: len(run.of("misuse", type="ok")),
    ),
    ("handle rights", "lists", "", lambda run: len(run.of("add", "set-acl", type="ok"))),
    ("handle events", "news", "", lambda run: len(run.of("news", type="ok"))),
    ("handle events", "ends_told", "", lambda run: len(run.of("gone", type="ok"))),
    (
        "handle events",
        "conflicts_told",
        "conflicting requests that were told",
        lambda run: len(run.of("heed", type="ok")),
    ),
):
    counts_of_chubby(check, stat, need, count)


# -- watches and access control on plain znodes -------------------------------------------------

counts("watch", "watch delivery", "watches")(lambda run: len(run.told("link", "watch-left")))
counts("watch", "watch delivery", "events")(lambda run: len(run.told("link", "watch")))
counts("znode", "stats", "stats")(
    lambda run: sum(c.type == "ok" and "stat" in (c.answer or {}) for c in run.calls)
)


def guarded(run):
    """Operations on nodes that somebody made, or may have made."""
    made = {c.value["name"] for c in run.of("make") if c.type != "fail"}
    calls = run.of("read", "list", "set", "grow", "prune", "allow")
    return [c for c in calls if c.value["name"] in made]


counts("znode", "access control", "served")(lambda run: sum(c.type == "ok" for c in guarded(run)))
counts("znode", "access control", "refused")(
    lambda run: sum((c.type, c.error) == ("fail", "no authority") for c in guarded(run))
)
