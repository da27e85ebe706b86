package worker;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListener;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.KeeperException;

/**
 * {@code LeaderSelector}, a new one for each campaign, with the listener that Curator recommends: it
 * interrupts the leader when the connection is lost.
 */
final class SelectorContender extends Contender {
    /** How long the selector may take to release once the leader has returned. */
    private static final int RELEASE_S = 10;

    /** One campaign, and the term that follows. */
    private final class Term implements LeaderSelectorListener {
        final ExecutorService executor = Executors.newSingleThreadExecutor();
        final LeaderSelector selector =
                new LeaderSelector(curator, context.path(), executor, this);
        final CountDownLatch decided = new CountDownLatch(1);
        final CountDownLatch over = new CountDownLatch(1);
        volatile boolean leading;
        volatile String node;
        private final LeaderSelectorListener recommended =
                new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework client) {}
                };

        @Override
        public void stateChanged(CuratorFramework client, ConnectionState state) {
            if (listens) {
                recommended.stateChanged(client, state);
            }
        }

        @Override
        public void takeLeadership(CuratorFramework client) throws Exception {
            if (over.getCount() == 0) {
                return;
            }
            node = nodeOf(selector);
            leading = true;
            decided.countDown();
            try {
                over.await();
            } finally {
                leading = false;
                context.lookAtBelief().run();
            }
        }

        void end() {
            over.countDown();
            executor.shutdown();
        }

        boolean hasEnded() throws InterruptedException {
            return executor.awaitTermination(RELEASE_S, TimeUnit.SECONDS);
        }
    }

    private final boolean listens;
    private volatile Term term;

    /** Without {@code listens} a mutant: it leads on whatever the state of the connection. */
    SelectorContender(ClientContext context, boolean listens) {
        super(context, "campaign", "lead", "resign");
        this.listens = listens;
    }

    @Override
    protected boolean heeds() {
        return listens;
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        close();
        Term candidate = new Term();
        term = candidate;
        candidate.selector.start();
        if (candidate.decided.await(timeoutMs, TimeUnit.MILLISECONDS)) {
            return true;
        }
        close();
        return false;
    }

    @Override
    protected void leave() throws Exception {
        Term ended = term;
        if (ended == null) {
            throw new NotDone("not leading");
        }
        ended.end();
        boolean released = ended.hasEnded();
        close();
        if (!released) {
            throw KeeperException.create(KeeperException.Code.OPERATIONTIMEOUT);
        }
    }

    @Override
    protected String node() {
        return term.node;
    }

    @Override
    protected boolean granted() {
        Term now = term;
        return now != null && now.leading && now.over.getCount() > 0;
    }

    @Override
    protected Map<String, String> lines() {
        return Map.of(context.path(), "lock-");
    }

    @Override
    public void close() throws Exception {
        Term ended = term;
        term = null;
        if (ended != null) {
            ended.selector.close();
            ended.end();
        }
    }

    /** The node of the selector's mutex; to be asked on the leader's thread. */
    private static String nodeOf(LeaderSelector selector) throws ReflectiveOperationException {
        // The only way to learn which node it is.
        Field mutex = LeaderSelector.class.getDeclaredField("mutex");
        mutex.setAccessible(true);
        Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        path.setAccessible(true);
        return (String) path.invoke(mutex.get(selector));
    }
}
