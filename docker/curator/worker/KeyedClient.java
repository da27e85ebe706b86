package worker;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.zookeeper.KeeperException;

/** A client of objects that have keys, whose calls it gives up a while after their timeout. */
abstract class KeyedClient implements WorkloadClient {
    private final double overdue;

    /** The argument: by how many seconds a call may run over its timeout. */
    protected KeyedClient(double overdue) {
        this.overdue = overdue;
    }

    /** Runs a call that changes something within its bound; how it ended is unknown on an error. */
    protected <T> T change(Map<String, Object> value, Callable<T> call)
            throws Exception {
        try {
            return new PatientCall<>(call).result(Values.number(value, "timeout") + overdue);
        } catch (PatientCall.StillRunning running) {
            throw new OutcomeUnknown(running.getMessage());
        } catch (KeeperException error) {
            throw new OutcomeUnknown(error);
        }
    }

    /** Runs a call that changes nothing within its bound; on an error nothing has happened. */
    protected <T> T look(Map<String, Object> value, Callable<T> call)
            throws Exception {
        try {
            return change(value, call);
        } catch (OutcomeUnknown error) {
            throw new NotDone(error.getMessage());
        }
    }

    protected static int key(Map<String, Object> value) {
        return ((Long) value.get("key")).intValue();
    }

    /** The answer of an operation with a key. */
    protected static Map<String, Object> answer(Map<String, Object> asked, Object value) {
        Map<String, Object> answer = new HashMap<>();
        answer.put("key", asked.get("key"));
        answer.put("value", value);
        return answer;
    }
}
