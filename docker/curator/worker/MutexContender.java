package worker;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.LockInternalsDriver;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;

/** {@code InterProcessMutex}: one object for a client's life, used by one thread. */
class MutexContender extends Contender {
    /** A mutex that tells its node. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework curator, String path, LockInternalsDriver driver) {
            super(curator, path, driver);
        }

        String node() {
            return getLockPath();
        }
    }

    private final Mutex mutex;

    MutexContender(ClientContext context, LockInternalsDriver driver) {
        super(context);
        mutex = new Mutex(curator, context.path(), driver);
    }

    MutexContender(ClientContext context) {
        this(context, new StandardLockInternalsDriver());
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        return mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void leave() throws Exception {
        if (!mutex.isOwnedByCurrentThread()) {
            throw new NotDone("not held by this client");
        }
        mutex.release();
    }

    @Override
    protected String node() {
        return mutex.node();
    }

    @Override
    protected Map<String, String> lines() {
        return Map.of(context.path(), "lock-");
    }

    /** What Curator says of the lock, whatever the state of the connection. */
    protected boolean isAcquired() {
        return mutex.isAcquiredInThisProcess();
    }
}
