import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.KeeperException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What Curator's recipes do when a request takes effect, and its reply is lost. */
class TestLostReplies {
    private TestingServer server;
    private LosesReply link;
    private CuratorFramework client;
    private CuratorFramework other;

    @BeforeEach
    void connect() throws Exception {
        server = new TestingServer();
        link = new LosesReply(server.getPort());
        client = started(link.connectString());
        other = started(server.getConnectString());
    }

    @AfterEach
    void disconnect() throws Exception {
        client.close();
        other.close();
        link.close();
        server.close();
    }

    private static CuratorFramework started(String servers) throws Exception {
        CuratorFramework made =
                CuratorFrameworkFactory.builder()
                        .connectString(servers)
                        .ensembleTracker(false) // it would go past the link
                        .retryPolicy(new ExponentialBackoffRetry(100, 5))
                        .build();
        made.start();
        assertTrue(made.blockUntilConnected(10, TimeUnit.SECONDS));
        return made;
    }

    // Counters.

    @Test
    void sharedCountSaysWhetherItWasSet() throws Exception {
        try (SharedCount count = new SharedCount(client, "/count", 0)) {
            count.start();
            VersionedValue<Integer> seen = count.getVersionedValue();
            link.loseReplyTo(LosesReply.SET_DATA);
            boolean said;
            try {
                said = count.trySetCount(seen, 1);
            } catch (KeeperException nobodyKnows) {
                return; // that is right, too
            }
            boolean set = other.getData().forPath("/count")[3] == 1;
            assertTrue(link.hasLost());
            assertEquals(set, said, "trySetCount says that it was set");
        }
    }

    @Test
    void distributedAtomicLongAddsOnce() throws Exception {
        DistributedAtomicLong number =
                new DistributedAtomicLong(client, "/number", new RetryNTimes(3, 1));
        number.initialize(0L);
        link.loseReplyTo(LosesReply.SET_DATA);
        try {
            number.add(1L);
        } catch (KeeperException nobodyKnows) {
            return; // that is right, too
        }
        assertTrue(link.hasLost());
        assertEquals(1L, number.get().postValue(), "1 was added once");
    }

    // Elements that are put.

    @Test
    void simpleDistributedQueuePutsOnce() throws Exception {
        SimpleDistributedQueue queue = new SimpleDistributedQueue(client, "/queue");
        queue.poll(); // makes the folder
        link.loseReplyTo(LosesReply.CREATE);
        try {
            queue.offer(bytes("a"));
        } catch (KeeperException nobodyKnows) {
            // that is right, too
        }
        assertTrue(link.hasLost());
        assertEquals(1, other.getChildren().forPath("/queue").size(), "elements after one offer");
    }

    @Test
    void distributedQueuePutsOnce() throws Exception {
        try (DistributedQueue<String> queue = builder(client, null).putInBackground(false).buildQueue()) {
            queue.start();
            link.loseReplyTo(LosesReply.CREATE);
            try {
                queue.put("a");
            } catch (KeeperException nobodyKnows) {
                // that is right, too
            }
            assertTrue(link.hasLost());
            assertEquals(1, other.getChildren().forPath("/queue").size(), "elements after one put");
        }
    }

    // Elements that are taken.

    @Test
    void simpleDistributedQueueReturnsWhatItRemoves() throws Exception {
        SimpleDistributedQueue queue = new SimpleDistributedQueue(other, "/queue");
        queue.offer(bytes("a"));
        queue.offer(bytes("b"));
        SimpleDistributedQueue taking = new SimpleDistributedQueue(client, "/queue");
        link.loseReplyTo(LosesReply.DELETE);
        byte[] taken;
        try {
            taken = taking.poll(1, TimeUnit.SECONDS);
        } catch (KeeperException nobodyKnows) {
            return; // that is right, too
        }
        assertTrue(link.hasLost());
        assertArrayEquals(bytes("a"), taken, "the first element, which nobody else has removed");
    }

    @Test
    void distributedQueueGivesItsConsumerWhatItRemoves() throws Exception {
        List<String> given = new CopyOnWriteArrayList<>();
        try (DistributedQueue<String> producer = builder(other, null).putInBackground(false).buildQueue();
                DistributedQueue<String> queue = builder(client, collects(given)).buildQueue()) {
            producer.start();
            producer.put("a");
            link.loseReplyTo(LosesReply.DELETE);
            queue.start();
            for (int turn = 0; turn < 100 && given.isEmpty(); turn++) {
                Thread.sleep(50);
            }
            assertTrue(link.hasLost());
            assertEquals(List.of(), other.getChildren().forPath("/queue"), "elements left");
            assertEquals(List.of("a"), given, "what the only consumer was given");
        }
    }

    @Test
    void lockedDistributedQueueDoesNotKeepElementsFromItself() throws Exception {
        List<String> given = new CopyOnWriteArrayList<>();
        try (DistributedQueue<String> producer = builder(other, null).putInBackground(false).buildQueue();
                DistributedQueue<String> queue =
                        builder(client, collects(given)).lockPath("/locks").buildQueue()) {
            producer.start();
            queue.start();
            Thread.sleep(500); // it waits for elements
            link.loseReplyTo(LosesReply.CREATE);
            producer.put("a");
            producer.put("b");
            for (int turn = 0; turn < 100 && given.size() < 2; turn++) {
                Thread.sleep(50);
            }
            assertTrue(link.hasLost());
            Collections.sort(given);
            assertEquals(List.of("a", "b"), given, "what the only consumer was given");
        }
    }

    private static QueueConsumer<String> collects(List<String> given) {
        return new QueueConsumer<>() {
            @Override
            public void consumeMessage(String message) {
                given.add(message);
            }

            @Override
            public void stateChanged(CuratorFramework from, ConnectionState state) {}
        };
    }

    private static QueueBuilder<String> builder(
            CuratorFramework client, QueueConsumer<String> consumer) {
        QueueSerializer<String> serializer =
                new QueueSerializer<>() {
                    @Override
                    public byte[] serialize(String item) {
                        return bytes(item);
                    }

                    @Override
                    public String deserialize(byte[] item) {
                        return new String(item, StandardCharsets.UTF_8);
                    }
                };
        return QueueBuilder.builder(client, consumer, serializer, "/queue");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
