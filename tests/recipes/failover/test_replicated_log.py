"""A member's copy of a replicated log, and what a majority of members keeps between them."""

from hypothesis import given
from hypothesis import strategies as st

from rumpus.recipes.failover.replicated_log import Refused, ReplicatedLog, committed, merit


class Disk:
    """A journal that can be read again, or be cut off anywhere behind what was there before."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data

    def log(self):
        return ReplicatedLog(self.data, self.write)


def refused(call, *arguments):
    try:
        call(*arguments)
    except Refused as refusal:
        return refusal.promised
    return None


def test_what_was_promised_and_accepted_is_there_for_the_next_process():
    disk = Disk()
    log = disk.log()
    log.promise(5)
    assert log.accept(7, 0, 0, [(5, "a"), (7, "b")])
    again = disk.log()
    assert (again.promised, again.entries) == (7, [(5, "a"), (7, "b")])


def test_an_epoch_that_is_over_is_refused_in_every_way():
    log = Disk().log()
    log.promise(9)
    assert refused(log.promise, 8) == 9
    assert refused(log.accept, 8, 0, 0, [(8, "late")]) == 9
    assert refused(log.append, 8, ["late"]) == 9
    assert log.entries == []


def test_a_piece_that_was_long_on_its_way_takes_nothing_away():
    log = Disk().log()
    log.append(3, ["a", "b", "c"])
    assert log.accept(3, 0, 0, [(3, "a")])
    assert [value for _, value in log.entries] == ["a", "b", "c"]


def test_what_contradicts_the_primary_goes_with_all_behind_it():
    disk = Disk()
    log = disk.log()
    log.append(3, ["a", "b", "c"])
    assert log.accept(4, 1, 3, [(4, "x")])
    assert log.entries == disk.log().entries == [(3, "a"), (4, "x")]


def test_a_piece_that_does_not_fit_on_is_not_taken():
    log = Disk().log()
    log.append(3, ["a"])
    assert not log.accept(4, 2, 4, [(4, "gap")])
    assert not log.accept(4, 1, 4, [(4, "another before it")])
    assert log.entries == [(3, "a")]


def test_a_torn_line_counts_for_nothing_and_spoils_nothing():
    disk = Disk()
    disk.log().append(3, ["a", "b"])
    whole = disk.data
    disk.data = whole[:-4]
    log = disk.log()
    assert log.entries == [(3, "a")]
    log.append(3, ["c"])
    assert disk.log().entries == [(3, "a"), (3, "c")]


def test_committed_is_what_a_quorum_has():
    assert committed([7, 5, 3], 2) == 5
    assert committed([7], 2) == 0
    assert committed([4, 4, 9, 1, 0], 3) == 4


class Group:
    """Three members without a network: whom a primary reaches is drawn by the test."""

    def __init__(self, kind=ReplicatedLog):
        self.logs = [kind(b"", lambda _: None) for _ in range(3)]
        self.acknowledged = {}

    def begin(self, member, epoch, reached, value):
        """A new term, and a write in it, as far as it gets with the members that are reached."""
        promised = {m for m in {member, *reached} if not refused(self.logs[m].promise, epoch)}
        if member in promised and len(promised) >= 2:
            self.logs[member].adopt(max((self.logs[m].entries for m in promised), key=merit))
            self.logs[member].append(epoch, [value])
            self.ship(member, epoch, reached)

    def go_on(self, member, epoch, reached, value):
        """One more write in a term, which may be over without its primary's knowledge."""
        log = self.logs[member]
        if log.promised == epoch and log.entries and log.entries[-1][0] == epoch:
            log.append(epoch, [value])
            self.ship(member, epoch, reached)

    def ship(self, member, epoch, reached):
        entries = list(self.logs[member].entries)
        others = sorted(reached - {member})
        if [m for m in others if not refused(self.logs[m].accept, epoch, 0, 0, entries)]:
            for at, entry in enumerate(entries):
                self.acknowledged.setdefault(at, entry)

    def lost(self):
        """Whether some majority's best log is without something that was acknowledged."""
        for majority in ((0, 1), (0, 2), (1, 2)):
            best = max((self.logs[m].entries for m in majority), key=merit)
            if any(best[at : at + 1] != [entry] for at, entry in self.acknowledged.items()):
                return True
        return False


STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.sets(st.integers(0, 2)), st.integers(1, 12)),
    max_size=25,
)


def loses_something(group, steps):
    """Play terms, whose epochs have one primary each, and late writes in earlier ones."""
    owners = {}
    for value, (new, member, reached, epoch) in enumerate(steps):
        if new and epoch not in owners:
            owners[epoch] = member
            group.begin(member, epoch, reached, value)
        elif epoch in owners:
            group.go_on(owners[epoch], epoch, reached, value)
        if group.lost():
            return True
    return False


@given(STEPS)
def test_what_was_acknowledged_is_in_the_best_log_of_every_majority(steps):
    assert not loses_something(Group(), steps)


def test_without_the_comparison_of_epochs_it_is_not():
    class Trusting(ReplicatedLog):
        def refuses(self, _epoch):
            return False

    steps = [(True, 0, {1}, 1), (True, 2, {1}, 2), (False, 0, {1, 2}, 1)]
    assert not loses_something(Group(), steps)
    assert loses_something(Group(Trusting), steps)
