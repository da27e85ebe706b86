package worker;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** {@code InterProcessReadWriteLock}, of which a client holds one side at a time. */
final class ReadWriteContender extends Contender {
    private interface Side {
        String node();
    }

    private static final class Writer extends InterProcessReadWriteLock.WriteLock implements Side {
        Writer(CuratorFramework curator, String path) {
            super(curator, path, null);
        }

        @Override
        public String node() {
            return getLockPath();
        }
    }

    private static final class Reader extends InterProcessReadWriteLock.ReadLock implements Side {
        Reader(CuratorFramework curator, String path, Writer writer) {
            super(curator, path, null, writer);
        }

        @Override
        public String node() {
            return getLockPath();
        }
    }

    private final Writer writer;
    private final Reader reader;
    private final boolean excludes;
    private InterProcessMutex side;

    /** Without {@code excludes} a mutant: it takes the side of readers for all it does. */
    ReadWriteContender(ClientContext context, boolean excludes) {
        super(context);
        this.excludes = excludes;
        writer = new Writer(curator, context.path());
        reader = new Reader(curator, context.path(), writer);
        side = writer;
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        side = !excludes || "read".equals(value.get("mode")) ? reader : writer;
        return side.acquire(timeoutMs, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void leave() throws Exception {
        if (!side.isOwnedByCurrentThread()) {
            throw new NotDone("not held by this client");
        }
        side.release();
    }

    @Override
    protected String node() {
        return ((Side) side).node();
    }

    @Override
    protected Map<String, String> lines() {
        return Map.of(context.path(), "__");
    }
}
