import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** Whether a semaphore grants a lease that went with its session before acquire returned. */
class TestSemaphoreEndedSession {
    @Test
    void aLeaseThatIsGrantedIsThere() throws Exception {
        try (TestingServer server = new TestingServer();
                LosesReply link = new LosesReply(server.getPort());
                CuratorFramework client =
                        CuratorFrameworkFactory.builder()
                                .connectString(link.connectString())
                                .ensembleTracker(false) // it would go past the link
                                .sessionTimeoutMs(5_000)
                                .connectionTimeoutMs(5_000)
                                .retryPolicy(new ExponentialBackoffRetry(100, 5))
                                .build()) {
            client.start();
            assertTrue(client.blockUntilConnected(10, TimeUnit.SECONDS));
            CountDownLatch lost = new CountDownLatch(1);
            client.getConnectionStateListenable()
                    .addListener(
                            (from, state) -> {
                                if (state == ConnectionState.LOST) {
                                    lost.countDown();
                                }
                            });
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, "/semaphore", 1);
            ZooKeeper session = client.getZookeeperClient().getZooKeeper();
            // It deletes the node of its inner lock when it has found that it has a lease.
            link.loseReplyTo(LosesReply.DELETE, () -> end(session, server.getConnectString()));
            Lease lease = semaphore.acquire(20, TimeUnit.SECONDS);
            assertTrue(lost.await(0, TimeUnit.SECONDS), "LOST is told before acquire returns");
            if (lease != null) {
                assertNotNull(
                        client.checkExists().forPath("/semaphore/leases/" + lease.getNodeName()),
                        "the node of a lease that was granted after LOST");
            }
        }
    }

    /** Ends a session on the server, as its expiry does. */
    private static void end(ZooKeeper session, String servers) {
        CountDownLatch connected = new CountDownLatch(1);
        try {
            ZooKeeper twin =
                    new ZooKeeper(
                            servers,
                            10_000,
                            event -> {
                                if (event.getState() == KeeperState.SyncConnected) {
                                    connected.countDown();
                                }
                            },
                            session.getSessionId(),
                            session.getSessionPasswd());
            connected.await();
            twin.close();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
