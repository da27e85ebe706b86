package worker;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** {@code InterProcessSemaphoreV2}. */
final class SemaphoreContender extends Contender {
    /** How many permits: {@code SemaphoreWorkload.permits}. */
    static final int PERMITS = 2;

    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    /** With more permits than {@link #PERMITS} a mutant. */
    SemaphoreContender(ClientContext context, int permits) {
        super(context);
        semaphore = new InterProcessSemaphoreV2(curator, context.path(), permits);
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        lease = semaphore.acquire(timeoutMs, TimeUnit.MILLISECONDS);
        return lease != null;
    }

    @Override
    protected void leave() throws Exception {
        Lease held = lease;
        if (held == null) {
            throw new NotDone("not held by this client");
        }
        lease = null;
        semaphore.returnLease(held);
    }

    @Override
    protected String node() {
        return nodeOf(context, lease);
    }

    @Override
    protected Map<String, String> lines() {
        return linesOf(context);
    }

    static String nodeOf(ClientContext context, Lease lease) {
        return context.path() + "/leases/" + lease.getNodeName();
    }

    static Map<String, String> linesOf(ClientContext context) {
        return Map.of(context.path() + "/leases", "lease-", context.path() + "/locks", "lock-");
    }
}
