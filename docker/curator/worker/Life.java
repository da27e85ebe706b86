package worker;

import org.apache.curator.framework.state.ConnectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a client has from its start to its stop: a session, and its side of the workload. */
final class Life {
    private static final Logger LOG = LoggerFactory.getLogger(Life.class);

    final Session session;
    final WorkloadClient workload;
    private volatile boolean stopped;

    Life(Session session, WorkloadClient workload) {
        this.session = session;
        this.workload = workload;
    }

    /** Whether another thread has stopped it, whatever was under way. */
    boolean stopped() {
        return stopped;
    }

    boolean believes() {
        return !stopped && workload.believes();
    }

    /** From now on nothing is held: whoever ends the session of a hold gives the hold up. */
    void giveUp() {
        stopped = true;
        workload.stateChanged(ConnectionState.LOST);
    }

    /** Ends it as a program does in order: what the recipe has begun, then the client. */
    void close() throws Exception {
        try {
            workload.close();
        } finally {
            session.close();
        }
    }

    /** Closes the client under the recipe, which may be in the middle of a call. */
    void stop() {
        session.close();
        try {
            workload.close();
        } catch (Exception error) { // it asks a client that is closed; that is what we do to it
            LOG.info("closing the recipe after its client: {}", error.toString());
        }
    }
}
