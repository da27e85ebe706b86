package worker;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.state.ConnectionState;

/**
 * A consumer of {@code DistributedQueue} that gets one element. It is the queue's executor, too,
 * which Curator calls on its thread for each element that it is going to take: so no element is
 * taken that nobody wants.
 */
final class Consumer implements QueueConsumer<byte[]>, Executor {
    private final boolean waits;
    private final CompletableFuture<byte[]> given = new CompletableFuture<>();
    private final CompletableFuture<Boolean> ending = new CompletableFuture<>();
    private final CountDownLatch handled = new CountDownLatch(1);
    private boolean wanted = true;
    private boolean taking;
    private volatile boolean lost;
    private volatile Closeable queue = () -> {};

    /** The argument says whether Curator keeps the element until {@link #end}. */
    Consumer(boolean waits) {
        this.waits = waits;
    }

    // Curator's side.

    @Override
    public void execute(Runnable task) {
        synchronized (this) {
            if (!wanted) {
                Thread.currentThread().interrupt(); // ends Curator's loop
                return;
            }
            taking = true;
        }
        try {
            task.run();
        } finally {
            synchronized (this) {
                taking = false;
                wanted &= !given.isDone();
                notifyAll();
            }
            if (given.isDone()) {
                handled.countDown();
            }
        }
    }

    @Override
    public void consumeMessage(byte[] element) throws Exception {
        given.complete(element);
        synchronized (this) {
            notifyAll();
        }
        if (waits && ending.get()) {
            throw new GivenBack();
        }
    }

    @Override
    public void stateChanged(CuratorFramework client, ConnectionState state) {}

    /** Has Curator put the element into the queue again. */
    private static final class GivenBack extends Exception {
        private static final long serialVersionUID = 1;
    }

    // The client's side.

    /** Waits for an element; null if none came. */
    byte[] await(long timeoutMs) throws Exception {
        try {
            return given.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException none) {
            return null;
        }
    }

    /** The element that came; null if none has. */
    byte[] got() {
        return given.getNow(null);
    }

    /** Has no further element taken, and waits for one that is being taken. */
    synchronized void wantNoMore(long patienceMs) throws InterruptedException {
        wanted = false;
        long end = System.nanoTime() + patienceMs * 1_000_000;
        while (busy() && System.nanoTime() - end < 0) {
            wait(100);
        }
    }

    /** Whether an element is being taken that has not come. */
    synchronized boolean busy() {
        return taking && !given.isDone();
    }

    /** What is to be closed when the claim has ended. */
    void onEnd(Closeable closed) {
        queue = closed;
    }

    /** Lets Curator remove the element, or keep it; whether it has finished in time. */
    boolean end(boolean keep, long patienceMs) throws InterruptedException {
        ending.complete(keep);
        return handled.await(patienceMs, TimeUnit.MILLISECONDS);
    }

    /** Notes that the session has ended in which the element was claimed. */
    void lose() {
        lost = true;
    }

    boolean lost() {
        return lost;
    }

    /** Is a consumer no more: Curator's threads are interrupted, wherever they are. */
    void abandon() throws IOException {
        queue.close();
    }
}
