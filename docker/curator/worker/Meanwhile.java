package worker;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One thing that another thread of the program does during a use. */
final class Meanwhile {
    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread thread;

    /** The second argument: how many seconds from now. */
    Meanwhile(Runnable deed, double after) {
        thread = new Thread(() -> waitAndDo(deed, Math.round(after * 1e9)), "meanwhile");
        thread.setDaemon(true);
        thread.start();
    }

    private void waitAndDo(Runnable deed, long nanoseconds) {
        try {
            if (!over.await(nanoseconds, TimeUnit.NANOSECONDS)) {
                deed.run();
            }
        } catch (InterruptedException ends) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns once it is done; it is not begun any more. */
    void end() throws InterruptedException {
        over.countDown();
        thread.join();
    }
}
