package worker;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;

/** {@code SimpleDistributedQueue}. */
final class SimpleQueueClient extends QueueClient {
    private final String path;
    private final SimpleDistributedQueue queue;
    private final boolean removes;

    /** Without {@code removes} a mutant: it peeks, and removes what is first by then. */
    SimpleQueueClient(ClientContext context, boolean removes) {
        super(context);
        this.removes = removes;
        path = context.path();
        queue = new SimpleDistributedQueue(curator, path);
    }

    @Override
    protected void put(byte[] element) throws Exception {
        queue.offer(element);
    }

    @Override
    protected byte[] take(long timeoutMs) throws Exception {
        byte[] first = removes ? null : queue.peek();
        byte[] removed = queue.poll(timeoutMs, TimeUnit.MILLISECONDS);
        return first == null ? removed : first;
    }

    @Override
    protected String elements() {
        return path;
    }
}
