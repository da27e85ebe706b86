package worker;

import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.state.ConnectionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client: obeys commands until its channel ends. It does what {@code ClientBody} does in
 * client_body.py, with Curator in place of kazoo, and uses recipes as {@link Usage} says.
 *
 * <p>A client of Curator that was closed cannot be started again. So a program that stops its client
 * and starts it makes a new one, and new recipes on it: a new {@link Life}. A call that was under
 * way goes on with what belongs to the old one.
 */
final class ClientBody {
    private static final Logger LOG = LoggerFactory.getLogger(ClientBody.class);

    /** How many operations may end with an error in a row before restarts take longer. */
    private static final int MOST_FAILURES = 5;

    private static final int RESTART_PAUSE_MS = 500;

    /** How long a new client waits for its first session before it begins without one. */
    private static final int CONNECT_PATIENCE_S = 10;

    /** The same, of one that another thread has started again. */
    private static final int RESTART_PATIENCE_S = 5;

    private static final int BELIEF_PERIOD_MS = 20;

    private final Channel channel;
    private final Recorder recorder;
    private final Map<String, Object> assignment;
    private final Map<String, Object> options;
    private final Stops stops;
    private final long client;
    private final Object beliefLock = new Object();
    /** Held while a holder acts: another thread stops the client between its actions. */
    private final Object acting = new Object();
    private volatile long process;
    private volatile Life life;
    private boolean belief;
    private boolean broken;
    private int failures;

    ClientBody(Channel channel, Map<String, Object> assignment) {
        this.channel = channel;
        this.assignment = assignment;
        this.options = Channel.map(assignment.get("options"));
        this.stops = new Stops(Usage.of(options), this::restart);
        this.client = (Long) assignment.get("client");
        this.recorder = new Recorder(channel, client, (Long) assignment.get("origin"));
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

    // The client's lives.

    private void open(long next) throws Exception {
        if (life != null && !broken) {
            // Only an outcome is unknown: the client keeps its session, as an application would.
            process = next;
            ready(true);
            return;
        }
        stops.end();
        close();
        if (failures > MOST_FAILURES) {
            Thread.sleep(RESTART_PAUSE_MS);
        }
        broken = false;
        process = next;
        ready(begin(CONNECT_PATIENCE_S));
    }

    /** Begins a life; whether it has a session within so many seconds. */
    private boolean begin(int patienceS) throws InterruptedException {
        double timeout = ((Number) assignment.get("session_timeout")).doubleValue();
        Session session =
                new Session(
                        (String) assignment.get("hosts"),
                        (int) Math.round(timeout * 1000),
                        this::stateChanged);
        WorkloadClient workload =
                Recipes.open(
                        new ClientContext(session, client, options, this::act, this::lookAtBelief));
        synchronized (beliefLock) {
            life = new Life(session, workload);
        }
        return session.start(patienceS);
    }

    private void ready(boolean connected) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("process", process);
        fields.put("connected", connected);
        fields.put("library", Worker.curatorVersion());
        channel.send("Ready", fields);
    }

    private void close() throws Exception {
        Life closed = life;
        if (closed == null) {
            return;
        }
        synchronized (beliefLock) {
            life = null;
            if (belief) {
                belief = false;
                sessionRecord("doubts", closed);
            }
        }
        try {
            closed.close();
        } finally {
            sessionRecord("closed", closed);
        }
    }

    /** Stops the client, whatever it is doing, and starts it again. */
    private void restart() {
        synchronized (acting) {
            Life stopped = life;
            synchronized (beliefLock) {
                stopped.giveUp();
            }
            lookAtBelief();
            stopped.stop();
            sessionRecord("closed", stopped);
            try {
                begin(RESTART_PATIENCE_S);
            } catch (InterruptedException ends) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The present life, once a restart that is under way is over. */
    private Life afterRestart() {
        synchronized (acting) {
            return life;
        }
    }

    // Operations.

    private void perform(Map<String, Object> command) throws InterruptedException {
        String f = (String) command.get("f");
        Object asked = command.get("value");
        long performing = (Long) command.get("process");
        long called;
        synchronized (beliefLock) {
            if (f.equals(life.workload.ends())) {
                belief = false;
            }
            called = recorder.clock();
        }
        recorder.record(called, performing, "invoke", f, asked, null);
        stops.before(life, f, (Boolean) command.get("final"));
        Life used = afterRestart();
        String type = "ok";
        Object value = null;
        String error = null;
        try {
            value = invoke(used, f, asked == null ? Map.of() : Channel.map(asked));
        } catch (NotDone failed) {
            type = "fail";
            value = failed.value;
            error = (used.stopped() ? "stopped meanwhile: " : "") + failed.getMessage();
        } catch (OutcomeUnknown unknown) {
            type = "info";
            error = unknown.getMessage();
        } catch (Exception failed) { // whatever a recipe throws, nobody knows what it did
            LOG.error("{} failed", f, failed);
            type = "info";
            value = asked;
            error = failed.getClass().getSimpleName() + ": " + failed.getMessage();
            broken = !used.stopped();
        }
        failures = broken ? failures + 1 : 0;
        boolean granted = f.equals(used.workload.grants()) && type.equals("ok");
        long returned;
        synchronized (beliefLock) {
            returned = recorder.clock();
            belief |= granted && !used.stopped();
            if (granted && used.stopped()) {
                type = "info";
                value = null;
                error = "granted, but the client has been stopped meanwhile";
            }
        }
        recorder.record(returned, performing, type, f, value, error);
        lookAtBelief();
    }

    private Object invoke(Life used, String f, Map<String, Object> value) throws Exception {
        WorkloadClient workload = used.workload;
        boolean changesHands = f.equals(workload.grants()) || f.equals(workload.ends());
        if (workload.grants().isEmpty() || changesHands) {
            return workload.invoke(f, value);
        }
        synchronized (acting) {
            return workload.invoke(f, value);
        }
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

    // The belief.

    /** Runs on Curator's thread. */
    private void stateChanged(ConnectionState state, String about) {
        String word =
                switch (state) {
                    case CONNECTED, RECONNECTED, READ_ONLY -> "connected";
                    case SUSPENDED -> "suspended";
                    case LOST -> "lost";
                };
        recorder.session(word, process, about);
        synchronized (beliefLock) {
            if (life != null) {
                life.workload.stateChanged(state);
            }
        }
        lookAtBelief();
    }

    /** Records the belief if it has changed since the last look. */
    private void lookAtBelief() {
        synchronized (beliefLock) {
            Life now = life;
            if (now != null && now.believes() != belief) {
                belief = !belief;
                sessionRecord(belief ? "believes" : "doubts", now);
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

    private void sessionRecord(String f, Life of) {
        recorder.session(f, process, of.session.current());
    }
}
