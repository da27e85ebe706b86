package worker;

import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.state.ConnectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client: obeys commands until its channel ends. It does what {@code ClientBody} does in
 * client_body.py, with Curator in place of kazoo.
 */
final class ClientBody {
    private static final Logger LOG = LoggerFactory.getLogger(ClientBody.class);

    /** How many operations may end with an error in a row before restarts take longer. */
    private static final int MOST_FAILURES = 5;

    private static final int RESTART_PAUSE_MS = 500;

    /** How long a new client waits for its first session before it begins without one. */
    private static final int CONNECT_PATIENCE_S = 10;

    private static final int BELIEF_PERIOD_MS = 20;

    private final Channel channel;
    private final Map<String, Object> assignment;
    private final Map<String, Object> options;
    private final long client;
    private final long origin;
    private final Object beliefLock = new Object();
    private volatile long process;
    private volatile Session session;
    private WorkloadClient workload;
    private boolean belief;
    private boolean broken;
    private int failures;

    ClientBody(Channel channel, Map<String, Object> assignment) {
        this.channel = channel;
        this.assignment = assignment;
        this.options = Channel.map(assignment.get("options"));
        this.client = (Long) assignment.get("client");
        this.origin = (Long) assignment.get("origin");
        this.process = client;
    }

    /** Obeys commands until the channel ends. */
    void run() throws Exception {
        Thread watch = new Thread(this::watchBelief, "belief");
        watch.setDaemon(true);
        watch.start();
        for (Map<String, Object> command = channel.receive();
                command != null;
                command = channel.receive()) {
            switch ((String) command.get("message")) {
                case "Open" -> open((Long) command.get("process"));
                case "Perform" -> perform(command);
                default -> throw new IllegalStateException("unexpected command " + command);
            }
        }
    }

    private void open(long next) throws Exception {
        if (workload != null && !broken) {
            // Only an outcome is unknown: the client keeps its session, as an application would.
            process = next;
            ready(true);
            return;
        }
        close();
        if (failures > MOST_FAILURES) {
            Thread.sleep(RESTART_PAUSE_MS);
        }
        broken = false;
        process = next;
        double timeout = ((Number) assignment.get("session_timeout")).doubleValue();
        Session opened =
                new Session(
                        (String) assignment.get("hosts"),
                        (int) Math.round(timeout * 1000),
                        this::stateChanged);
        session = opened;
        WorkloadClient made =
                Recipes.open(
                        new ClientContext(opened, client, options, this::act, this::lookAtBelief));
        synchronized (beliefLock) {
            workload = made;
        }
        ready(opened.start(CONNECT_PATIENCE_S));
    }

    private void ready(boolean connected) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("process", process);
        fields.put("connected", connected);
        fields.put("library", Worker.curatorVersion());
        channel.send("Ready", fields);
    }

    private void close() throws Exception {
        if (workload == null) {
            return;
        }
        WorkloadClient closed;
        synchronized (beliefLock) {
            closed = workload;
            workload = null;
            if (belief) {
                belief = false;
                sessionRecord("doubts", session.current());
            }
        }
        try {
            closed.close();
        } finally {
            session.close();
            sessionRecord("closed", session.current());
        }
    }

    private void perform(Map<String, Object> command) {
        String f = (String) command.get("f");
        Object asked = command.get("value");
        long performing = (Long) command.get("process");
        long called;
        synchronized (beliefLock) {
            if (f.equals(workload.ends())) {
                belief = false;
            }
            called = clock();
        }
        record(called, performing, "invoke", f, asked, null);
        String type = "ok";
        Object value = null;
        String error = null;
        try {
            value = workload.invoke(f, asked == null ? Map.of() : Channel.map(asked));
        } catch (NotDone failed) {
            type = "fail";
            value = failed.value;
            error = failed.getMessage();
        } catch (OutcomeUnknown unknown) {
            type = "info";
            error = unknown.getMessage();
        } catch (Exception failed) { // whatever a recipe throws, nobody knows what it did
            LOG.error("{} failed", f, failed);
            type = "info";
            value = asked;
            error = failed.getClass().getSimpleName() + ": " + failed.getMessage();
            broken = true;
        }
        failures = broken ? failures + 1 : 0;
        boolean granted = f.equals(workload.grants()) && type.equals("ok");
        long returned;
        synchronized (beliefLock) {
            returned = clock();
            belief |= granted;
        }
        record(returned, performing, type, f, value, error);
        lookAtBelief();
    }

    /** An action on the protected resource under no token; the witness's answer. */
    private Map<String, Object> act() {
        Map<String, Object> fields = new HashMap<>();
        fields.put("process", process);
        fields.put("token", null);
        channel.send("Act", fields);
        Map<String, Object> answer = channel.receive();
        if (answer == null) {
            Runtime.getRuntime().halt(1);
        }
        return answer;
    }

    /** Runs on Curator's thread. */
    private void stateChanged(ConnectionState state, String about) {
        String word =
                switch (state) {
                    case CONNECTED, RECONNECTED, READ_ONLY -> "connected";
                    case SUSPENDED -> "suspended";
                    case LOST -> "lost";
                };
        sessionRecord(word, about);
        synchronized (beliefLock) {
            if (workload != null) {
                workload.stateChanged(state);
            }
        }
        lookAtBelief();
    }

    /** Records the belief if it has changed since the last look. */
    private void lookAtBelief() {
        synchronized (beliefLock) {
            if (workload != null && workload.believes() != belief) {
                belief = !belief;
                sessionRecord(belief ? "believes" : "doubts", session.current());
            }
        }
    }

    private void watchBelief() {
        while (true) {
            lookAtBelief();
            try {
                Thread.sleep(BELIEF_PERIOD_MS);
            } catch (InterruptedException ends) {
                return;
            }
        }
    }

    private void sessionRecord(String f, String about) {
        Map<String, Object> value = new HashMap<>();
        value.put("client", client);
        value.put("process", process);
        value.put("session", about);
        record(clock(), "session", "info", f, value, null);
    }

    private void record(
            long time, Object of, String type, String f, Object value, String error) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("time", time);
        fields.put("process", of);
        fields.put("type", type);
        fields.put("f", f);
        fields.put("value", value);
        fields.put("error", error);
        channel.send("Record", fields);
    }

    /** The run's clock. On Linux nanoTime reads CLOCK_MONOTONIC, as the control process does. */
    private long clock() {
        return System.nanoTime() - origin;
    }
}
