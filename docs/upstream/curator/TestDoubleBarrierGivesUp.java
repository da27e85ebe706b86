import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Test;

/** Whether a member counts whose enter has timed out. */
class TestDoubleBarrierGivesUp {
    @Test
    void aMemberThatGaveUpDoesNotCount() throws Exception {
        try (TestingServer server = new TestingServer();
                CuratorFramework client =
                        CuratorFrameworkFactory.newClient(
                                server.getConnectString(), new RetryOneTime(100))) {
            client.start();
            assertTrue(client.blockUntilConnected(10, TimeUnit.SECONDS));
            DistributedDoubleBarrier first = new DistributedDoubleBarrier(client, "/barrier", 2);
            DistributedDoubleBarrier second = new DistributedDoubleBarrier(client, "/barrier", 2);
            assertFalse(first.enter(500, TimeUnit.MILLISECONDS), "alone, the first gives up");
            assertFalse(
                    second.enter(500, TimeUnit.MILLISECONDS), "the second is alone, too");
        }
    }
}
