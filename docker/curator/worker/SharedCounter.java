package worker;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;

/** {@code SharedCount}, changed by {@code trySetCount} as Curator's documentation says. */
final class SharedCounter implements CounterClient.Counter {
    /** How often it is tried while other clients are quicker. */
    private static final int TRIES = 20;

    private final SharedCount count;
    private final boolean compares;

    /** Without {@code compares} a mutant: it sets what it has computed, whatever is there by then. */
    SharedCounter(CuratorFramework curator, String path, boolean compares) throws Exception {
        this.compares = compares;
        count = new SharedCount(curator, path, 0);
        count.start();
    }

    @Override
    public Long add(long amount) throws Exception {
        for (int turn = 0; turn < TRIES; turn++) {
            VersionedValue<Integer> seen = count.getVersionedValue();
            int total = seen.getValue() + (int) amount;
            if (!compares) {
                count.setCount(total);
                return (long) total;
            }
            if (count.trySetCount(seen, total)) {
                return (long) total;
            }
        }
        return null;
    }

    /** What getCount tells may be out of date: it is read as by a client that then sets it. */
    @Override
    public long read() throws Exception {
        Long total = add(0);
        if (total == null) {
            throw new NotDone("changed by other clients meanwhile");
        }
        return total;
    }

    @Override
    public void close() throws Exception {
        count.close();
    }
}
