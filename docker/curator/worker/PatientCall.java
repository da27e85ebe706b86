package worker;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A call on a thread of its own, begun at once; it goes on whether anybody waits or not. */
final class PatientCall<T> {
    /** The call has not returned yet. */
    static final class StillRunning extends Exception {
        private static final long serialVersionUID = 1;

        StillRunning() {
            super("has not returned yet");
        }
    }

    private final FutureTask<T> task;

    PatientCall(Callable<T> function) {
        task = new FutureTask<>(function);
        Thread thread = new Thread(task, "patient call");
        thread.setDaemon(true);
        thread.start();
    }

    boolean running() {
        return !task.isDone();
    }

    /** What it returned, or throws what it threw, waiting up to so many seconds. */
    T result(double seconds) throws Exception {
        try {
            return task.get(Math.max(0, Math.round(seconds * 1000)), TimeUnit.MILLISECONDS);
        } catch (TimeoutException running) {
            throw new StillRunning();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw error;
        }
    }
}
