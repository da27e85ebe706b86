package worker;

import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.curator.ensemble.fixed.FixedEnsembleProvider;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.utils.DefaultZookeeperFactory;
import org.apache.curator.utils.ZookeeperFactory;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;

/** One client of Curator, and what it says of its session. */
final class Session {
    /** Curator's documentation retries three times from a second on; this bench has short sessions. */
    static final int RETRY_MS = 100;

    static final int RETRIES = 5;
    static final int LONGEST_RETRY_MS = 1000;

    final CuratorFramework curator;
    private final ConnectionStateListener listener;
    private volatile ZooKeeper handle;
    private volatile String announced;

    /**
     * Makes a client, without starting it.
     *
     * @param hosts the connection string: the client's links
     * @param timeoutMs session timeout
     * @param changed told of each change of state, and the session that it is about (hexadecimal)
     */
    Session(String hosts, int timeoutMs, BiConsumer<ConnectionState, String> changed) {
        curator =
                CuratorFrameworkFactory.builder()
                        // Else Curator reads the servers' own addresses from /zookeeper/config, and
                        // goes past the links.
                        .ensembleProvider(new FixedEnsembleProvider(hosts, false))
                        .ensembleTracker(false)
                        .zookeeperFactory(new KeptHandle())
                        .sessionTimeoutMs(timeoutMs)
                        .connectionTimeoutMs(timeoutMs)
                        .retryPolicy(
                                new ExponentialBackoffRetry(RETRY_MS, RETRIES, LONGEST_RETRY_MS))
                        .build();
        listener =
                (client, state) -> {
                    if (state.isConnected()) {
                        announced = current();
                    }
                    changed.accept(state, announced);
                };
        curator.getConnectionStateListenable().addListener(listener);
    }

    /** Starts the client; whether it has a session within so many seconds. */
    boolean start(int patienceS) throws InterruptedException {
        curator.start();
        return curator.blockUntilConnected(patienceS, TimeUnit.SECONDS);
    }

    /** The present session in hexadecimal; the latest one that was announced if there is none. */
    String current() {
        ZooKeeper now = handle;
        long id = now == null ? 0 : now.getSessionId();
        return id == 0 ? announced : hex(id);
    }

    /** Closes the session; its last changes of state are not told any more. */
    void close() {
        curator.getConnectionStateListenable().removeListener(listener);
        curator.close();
    }

    static String hex(long id) {
        return "0x" + Long.toHexString(id);
    }

    /**
     * Keeps Curator's latest handle. To ask Curator for it may end a connection attempt, or take an
     * exception that was meant for somebody else.
     */
    private final class KeptHandle implements ZookeeperFactory {
        private final ZookeeperFactory usual = new DefaultZookeeperFactory();

        @Override
        public ZooKeeper newZooKeeper(String hosts, int timeoutMs, Watcher watcher, boolean readOnly)
                throws Exception {
            return handle = usual.newZooKeeper(hosts, timeoutMs, watcher, readOnly);
        }

        @Override
        public ZooKeeper newZooKeeper(
                String hosts,
                int timeoutMs,
                Watcher watcher,
                boolean readOnly,
                ZKClientConfig settings)
                throws Exception {
            return handle = usual.newZooKeeper(hosts, timeoutMs, watcher, readOnly, settings);
        }
    }
}
