package worker;

import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;

/** Counters: {@code add} and {@code read}, as in workloads/counter.py. */
final class CounterClient extends KeyedClient {
    /** One of Curator's counters. */
    interface Counter {
        /** Adds, and returns the total after it; null if another client changed it meanwhile. */
        Long add(long amount) throws Exception;

        /** A total that it had at some moment of the call. */
        long read() throws Exception;

        default void close() throws Exception {}
    }

    /** Makes the counter at a path. */
    interface Maker {
        Counter make(CuratorFramework curator, String path) throws Exception;
    }

    private static final double OVERDUE_S = 1.5;

    private final ClientContext context;
    private final Maker maker;
    private final Map<Integer, Counter> counters = new HashMap<>();

    CounterClient(ClientContext context, Maker maker) {
        super(OVERDUE_S);
        this.context = context;
        this.maker = maker;
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        return switch (f) {
            case "add" -> answer(value, add(value));
            case "read" -> answer(value, look(value, () -> counter(key(value)).read()));
            default -> throw new IllegalArgumentException("a counter's client knows no " + f);
        };
    }

    private Long add(Map<String, Object> value) throws Exception {
        long amount = (Long) value.get("value");
        Long total = change(value, () -> counter(key(value)).add(amount));
        if (total == null) {
            throw new NotDone("changed by another client meanwhile");
        }
        return total;
    }

    /** Called on threads of calls, of which an abandoned one may still run. */
    private synchronized Counter counter(int key) throws Exception {
        Counter counter = counters.get(key);
        if (counter == null) {
            counter = maker.make(context.session().curator, context.path() + "/" + key);
            counters.put(key, counter);
        }
        return counter;
    }

    @Override
    public synchronized void close() throws Exception {
        for (Counter each : counters.values()) {
            each.close();
        }
    }
}
