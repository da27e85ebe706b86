package worker;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;

/** {@code InterProcessSemaphoreMutex}: not re-entrant, a semaphore with one lease. */
final class SemaphoreMutexContender extends Contender {
    private final InterProcessSemaphoreMutex mutex;
    private final Field lease;

    SemaphoreMutexContender(ClientContext context) {
        super(context);
        mutex = new InterProcessSemaphoreMutex(curator, context.path());
        try {
            // The only way to learn which node it is.
            lease = InterProcessSemaphoreMutex.class.getDeclaredField("lease");
            lease.setAccessible(true);
        } catch (NoSuchFieldException error) {
            throw new IllegalStateException("another Curator than 5.4", error);
        }
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        return mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void leave() throws Exception {
        if (!mutex.isAcquiredInThisProcess()) {
            throw new NotDone("not held by this client");
        }
        mutex.release();
    }

    @Override
    protected String node() throws Exception {
        return SemaphoreContender.nodeOf(context, (Lease) lease.get(mutex));
    }

    @Override
    protected Map<String, String> lines() {
        return SemaphoreContender.linesOf(context);
    }
}
