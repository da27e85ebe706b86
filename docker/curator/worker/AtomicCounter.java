package worker;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.retry.RetryNTimes;

/** {@code DistributedAtomicLong}, in its optimistic mode. */
final class AtomicCounter implements CounterClient.Counter {
    /** How often it is tried while other clients are quicker, and with what pause. */
    private static final int TRIES = 20;

    private static final int PAUSE_MS = 1;

    private final DistributedAtomicLong number;
    private final boolean asks;

    /** Without {@code asks} a mutant: it does not ask whether a change succeeded, nor tries again. */
    AtomicCounter(CuratorFramework curator, String path, boolean asks) {
        this.asks = asks;
        number =
                new DistributedAtomicLong(
                        curator, path, new RetryNTimes(asks ? TRIES : 0, PAUSE_MS));
    }

    @Override
    public Long add(long amount) throws Exception {
        AtomicValue<Long> changed = number.add(amount);
        return changed.succeeded() || !asks ? changed.postValue() : null;
    }

    /** What get tells may be out of date: it is read as by a client that then sets it. */
    @Override
    public long read() throws Exception {
        Long total = add(0);
        if (total == null) {
            throw new NotDone("changed by other clients meanwhile");
        }
        return total;
    }
}
