package worker;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.KeeperException;

/**
 * {@code DistributedDoubleBarrier}, a new one for each round, with the operations of
 * workloads/double_barrier.py. A member whose enter or leave failed removes its
 * node: Curator leaves it.
 */
final class DoubleBarrierClient implements WorkloadClient {
    private static final double OVERDUE_S = 3.0;
    private static final int LOOK_PAUSE_MS = 100;

    private final ClientContext context;
    private final CuratorFramework curator;
    private final int members;
    private volatile boolean connected = true;
    private volatile Round round;
    private PatientCall<Boolean> entering;
    private PatientCall<Boolean> leaving;

    /** One stay in the barrier, from the call of enter on. */
    private final class Round {
        final DistributedDoubleBarrier barrier =
                new DistributedDoubleBarrier(curator, context.path(), members);
        volatile String session;
        volatile boolean inside;
        volatile boolean lost;

        boolean enter(boolean endless, double timeout) throws Exception {
            boolean entered = false;
            try {
                if (endless) {
                    barrier.enter();
                    entered = true;
                } else {
                    entered = barrier.enter(Values.millis(timeout), TimeUnit.MILLISECONDS);
                }
            } finally {
                if (!entered) {
                    removeNode();
                }
            }
            session = context.session().current();
            inside = entered;
            return entered;
        }

        void removeNode() throws Exception {
            // The only way to learn which node it is.
            Field path = DistributedDoubleBarrier.class.getDeclaredField("ourPath");
            path.setAccessible(true);
            try {
                curator.delete().guaranteed().forPath((String) path.get(barrier));
            } catch (KeeperException.NoNodeException none) {
                // it was not made, or its session has ended
            }
        }

        /** Without a timeout: after one, Curator's next round would begin with others inside. */
        boolean leave() throws Exception {
            boolean left = false;
            try {
                barrier.leave();
                left = true;
            } finally {
                if (!left) {
                    removeNode();
                }
            }
            return true;
        }
    }

    /** With fewer members than there are clients a mutant. */
    DoubleBarrierClient(ClientContext context, int members) {
        this.context = context;
        this.members = members;
        this.curator = context.session().curator;
    }

    @Override
    public String grants() {
        return "enter";
    }

    @Override
    public String ends() {
        return "leave";
    }

    @Override
    public boolean believes() {
        Round now = round;
        return now != null && now.inside && connected && !now.lost;
    }

    @Override
    public void stateChanged(ConnectionState state) {
        connected = state.isConnected();
        Round now = round;
        if (state == ConnectionState.LOST && now != null) {
            now.lost = true;
        }
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        try {
            return switch (f) {
                case "enter" -> enter(value);
                case "stay" -> stay(Values.number(value, "patience"));
                case "leave" -> leave(Values.number(value, "timeout"));
                case "drain" -> drain(Values.number(value, "patience"));
                default -> throw new IllegalArgumentException("a member knows no " + f);
            };
        } catch (KeeperException error) {
            throw new OutcomeUnknown(error);
        } catch (PatientCall.StillRunning running) {
            throw new OutcomeUnknown(running.getMessage());
        }
    }

    private Object enter(Map<String, Object> value) throws Exception {
        double timeout = Values.number(value, "timeout");
        boolean endless = value.get("value") != null;
        if (leaving != null) {
            long began = System.nanoTime();
            awaitLeaving(timeout);
            timeout = Math.max(0, timeout - (System.nanoTime() - began) / 1e9);
        }
        boolean earlier = entering != null; // it may be endless, and is of unknown outcome
        if (!earlier) {
            Round next = new Round();
            double patience = timeout;
            round = next;
            entering = new PatientCall<>(() -> next.enter(endless, patience));
        }
        if (!result(endless || earlier ? timeout : timeout + OVERDUE_S)) {
            throw new NotDone(earlier ? "an earlier call timed out" : "timed out");
        }
        if (earlier && !believes()) {
            leaves();
            throw new OutcomeUnknown("was let in, but the connection has been lost since");
        }
        return member(round.session);
    }

    private void awaitLeaving(double timeout) throws Exception {
        try {
            leaving.result(timeout);
        } catch (PatientCall.StillRunning running) {
            throw new NotDone("an earlier leave has not returned yet");
        } catch (KeeperException | IllegalStateException over) {
            // how it ended was told when it was called
        }
        leaving = null;
    }

    /** How the call of enter that runs ends; it goes on if it takes longer. */
    private boolean result(double patience) throws Exception {
        PatientCall<Boolean> call = entering;
        entering = null;
        try {
            return call.result(patience);
        } catch (PatientCall.StillRunning running) {
            entering = call;
            throw running;
        }
    }

    private Object stay(double patience) throws InterruptedException {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (believesInside() && System.nanoTime() - end < 0) {
            if (connected && context.session().current().equals(round.session)) {
                break;
            }
            Thread.sleep(LOOK_PAUSE_MS);
        }
        return null;
    }

    private boolean believesInside() {
        Round now = round;
        return now != null && now.inside && !now.lost;
    }

    private Object leave(double timeout) throws Exception {
        Round now = round;
        if (now == null || !now.inside) {
            throw new NotDone("not entered");
        }
        boolean lost = now.lost;
        String session = now.session;
        leaves();
        PatientCall<Boolean> call = leaving;
        try {
            call.result(timeout + OVERDUE_S);
            leaving = null;
        } catch (IllegalStateException gone) { // what Curator throws if our node is not there
            leaving = null;
            throw new NotDone("our session has ended; others may have left already");
        }
        if (lost || now.lost || !context.session().current().equals(session)) {
            throw new NotDone("our session has ended; others may have left already");
        }
        return member(session);
    }

    private void leaves() {
        Round now = round;
        now.inside = false;
        leaving = new PatientCall<>(() -> now.leave());
    }

    /** Leaves, if an abandoned enter got in; and waits for an abandoned leave. */
    private Object drain(double patience) throws Exception {
        try {
            if (entering != null && result(patience)) {
                leaves();
            }
            if (leaving != null) {
                leaving.result(patience + OVERDUE_S);
                leaving = null;
            }
        } catch (PatientCall.StillRunning | KeeperException | IllegalStateException over) {
            // the last round shows it
        }
        return null;
    }

    private static Map<String, Object> member(String session) {
        Map<String, Object> member = new HashMap<>();
        member.put("session", session);
        return member;
    }
}
