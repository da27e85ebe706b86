package worker;

import java.util.HashMap;
import java.util.Map;

/** Sends records for the history, with the times at which things happened here. */
final class Recorder {
    private final Channel channel;
    private final long client;
    private final long origin;

    /** The last argument: the run's beginning, in nanoseconds of the monotonic clock. */
    Recorder(Channel channel, long client, long origin) {
        this.channel = channel;
        this.client = client;
        this.origin = origin;
    }

    /** The run's clock. On Linux nanoTime reads CLOCK_MONOTONIC, as the control process does. */
    long clock() {
        return System.nanoTime() - origin;
    }

    /** Records something that happens to a session now. */
    void session(String f, long process, String about) {
        Map<String, Object> value = new HashMap<>();
        value.put("client", client);
        value.put("process", process);
        value.put("session", about);
        record(clock(), "session", "info", f, value, null);
    }

    void record(long time, Object of, String type, String f, Object value, String error) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("time", time);
        fields.put("process", of);
        fields.put("type", type);
        fields.put("f", f);
        fields.put("value", value);
        fields.put("error", error);
        channel.send("Record", fields);
    }
}
