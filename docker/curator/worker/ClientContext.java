package worker;

import java.util.Map;
import java.util.function.Supplier;

/**
 * What a workload's client is given.
 *
 * @param session its client of Curator
 * @param client its number
 * @param options of the run: {@code recipe}, {@code path}, {@code clients}
 * @param act performs an action on the protected resource and returns the witness's answer
 * @param lookAtBelief to be called when the client begins or ceases to hold by itself
 */
record ClientContext(
        Session session,
        long client,
        Map<String, Object> options,
        Supplier<Map<String, Object>> act,
        Runnable lookAtBelief) {
    String recipe() {
        return (String) options.get("recipe");
    }

    String path() {
        return (String) options.get("path");
    }

    int clients() {
        return ((Long) options.get("clients")).intValue();
    }
}
