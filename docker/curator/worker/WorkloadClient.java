package worker;

import java.util.Map;
import org.apache.curator.framework.state.ConnectionState;

/** The client's side of a workload: what {@code WorkloadClient} is in client_body.py. */
interface WorkloadClient {
    /** The operation whose ok begins the client's belief that it holds; empty if it holds nothing. */
    default String grants() {
        return "";
    }

    /** The operation whose call ends that belief. */
    default String ends() {
        return "";
    }

    /**
     * Performs an operation and returns the value of its ok.
     *
     * @throws NotDone it did not happen
     * @throws OutcomeUnknown nobody knows whether it happened
     * @throws Exception the same, and the client cannot be relied on: it begins a new session
     */
    Object invoke(String f, Map<String, Object> value) throws Exception;

    /** Whether the client believes at this moment that it holds. Must not block. */
    default boolean believes() {
        return false;
    }

    /** What Curator tells of the connection, on Curator's thread. Must not block. */
    default void stateChanged(ConnectionState state) {}

    /** Ends what the client has begun. */
    default void close() throws Exception {}
}
