package worker;

import java.io.DataInputStream;
import java.io.ByteArrayInputStream;
import java.util.List;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.KeeperException;

/**
 * {@code DistributedQueue}, which hands elements to a consumer. A client is one while it waits for
 * an element, until it has got one ({@link Consumer}).
 *
 * <p>With a lock path, Curator keeps an element until the consumer has returned: that is a claim. To
 * acknowledge is to return, to release is to throw. Curator does not tell whether it could remove
 * the element then, so the client looks.
 */
final class DistributedQueueClient extends QueueClient {
    /** How long Curator may take to finish what it has begun. */
    static final int PATIENCE_MS = 10_000;

    private static final QueueSerializer<byte[]> AS_THEY_ARE =
            new QueueSerializer<>() {
                @Override
                public byte[] serialize(byte[] item) {
                    return item;
                }

                @Override
                public byte[] deserialize(byte[] bytes) {
                    return bytes;
                }
            };

    private final String path;
    private final boolean claims;
    private final boolean waits;
    private DistributedQueue<byte[]> producer;
    private volatile Consumer consumer;

    /** Without {@code waits} a mutant: its consumer returns at once, before anybody has worked. */
    DistributedQueueClient(ClientContext context, boolean claims, boolean waits) {
        super(context);
        this.claims = claims;
        this.waits = waits;
        path = context.path();
    }

    @Override
    protected void put(byte[] element) throws Exception {
        if (producer == null) {
            DistributedQueue<byte[]> made =
                    QueueBuilder.builder(curator, null, AS_THEY_ARE, elements())
                            .putInBackground(false)
                            .buildQueue();
            started(made);
            producer = made;
        }
        producer.put(element);
    }

    @Override
    protected byte[] take(long timeoutMs) throws Exception {
        Consumer taking = new Consumer(claims && waits);
        QueueBuilder<byte[]> builder =
                QueueBuilder.builder(curator, taking, AS_THEY_ARE, elements()).executor(taking);
        if (claims) {
            builder.lockPath(claimsFolder());
        }
        DistributedQueue<byte[]> queue = builder.buildQueue();
        started(queue);
        consumer = taking;
        byte[] element = taking.await(timeoutMs);
        taking.wantNoMore(PATIENCE_MS);
        element = element == null ? taking.got() : element;
        if (!claims || element == null) {
            consumer = null;
            queue.close();
            if (element == null && taking.busy()) {
                throw new OutcomeUnknown("an element is still being taken");
            }
        } else {
            taking.onEnd(queue::close);
        }
        return element;
    }

    private static void started(DistributedQueue<byte[]> queue) throws Exception {
        try {
            queue.start();
        } catch (KeeperException error) { // it only makes folders
            throw new NotDone(error.toString());
        }
    }

    @Override
    protected void end(String element, boolean keep) throws Exception {
        Consumer claim = consumer;
        if (claim == null || claim.got() == null || !text(claim.got()).equals(element)) {
            throw new NotDone("not claimed in this life of the client");
        }
        if (claim.lost()) {
            consumer = null;
            claim.abandon();
            throw new NotDone("the session that claimed it has ended");
        }
        if (!claim.end(keep, PATIENCE_MS)) {
            throw new OutcomeUnknown("Curator has not finished");
        }
        boolean there = !keep && left().contains(element);
        consumer = null;
        claim.abandon();
        if (claim.lost()) { // then another client may have removed it
            throw new OutcomeUnknown("the session that claimed it ended meanwhile");
        }
        if (there) {
            throw new NotDone("it is still there");
        }
    }

    @Override
    public void stateChanged(ConnectionState state) {
        Consumer claim = consumer;
        if (claim != null && state == ConnectionState.LOST) {
            claim.lose();
        }
    }

    @Override
    public void close() throws Exception {
        if (consumer != null) {
            consumer.abandon();
        }
        if (producer != null) {
            producer.close();
        }
    }

    @Override
    protected String elements() {
        return path + "/elements";
    }

    private String claimsFolder() {
        return path + "/claims";
    }

    @Override
    protected List<Object> claims() throws Exception {
        return claims ? Nodes.below(curator, claimsFolder(), "") : List.of();
    }

    /** Reads what Curator's {@code ItemSerializer} wrote, of one element. */
    @Override
    protected byte[] element(byte[] data) throws Exception {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(data));
        in.skipBytes(5); // the version, and the mark of an element
        return in.readNBytes(in.readInt());
    }
}
