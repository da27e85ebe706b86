package worker;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.zookeeper.KeeperException;

/** {@code DistributedBarrier}, with the operations of workloads/barrier.py. */
final class BarrierClient extends KeyedClient {
    private static final int BARRIERS = 2;
    private static final double OVERDUE_S = 3.0;
    private static final int LOOK_PAUSE_MS = 200;

    private final List<DistributedBarrier> barriers = new ArrayList<>();
    private final List<PatientCall<Boolean>> left = new ArrayList<>();
    private final boolean heedsTimeouts;

    /** Without {@code heedsTimeouts} a mutant: it takes a wait that timed out for one that passed. */
    BarrierClient(ClientContext context, boolean heedsTimeouts) {
        super(OVERDUE_S);
        this.heedsTimeouts = heedsTimeouts;
        for (int key = 0; key < BARRIERS; key++) {
            String path = context.path() + "/" + key;
            barriers.add(new DistributedBarrier(context.session().curator, path));
        }
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        switch (f) {
            case "create" -> change(value, () -> set(value, true));
            case "remove" -> change(value, () -> set(value, false));
            case "wait" -> await(value);
            case "left-over" -> {
                return leftOver(Values.number(value, "patience"));
            }
            default -> throw new IllegalArgumentException("a barrier's client knows no " + f);
        }
        return null;
    }

    private Void set(Map<String, Object> value, boolean there) throws Exception {
        DistributedBarrier barrier = barriers.get(key(value));
        if (there) {
            barrier.setBarrier();
        } else {
            barrier.removeBarrier();
        }
        return null;
    }

    private void await(Map<String, Object> value) throws Exception {
        DistributedBarrier barrier = barriers.get(key(value));
        double timeout = Values.number(value, "timeout");
        boolean endless = value.get("value") != null;
        PatientCall<Boolean> call =
                new PatientCall<>(
                        () -> {
                            if (endless) {
                                barrier.waitOnBarrier();
                                return true;
                            }
                            return barrier.waitOnBarrier(
                                    Values.millis(timeout), TimeUnit.MILLISECONDS);
                        });
        try {
            if (!call.result(endless ? timeout : timeout + OVERDUE_S) && heedsTimeouts) {
                throw new NotDone("timed out");
            }
        } catch (PatientCall.StillRunning running) {
            left.add(call);
            throw new NotDone("still waiting, left to itself");
        } catch (KeeperException error) {
            throw new NotDone(error.toString());
        }
    }

    /** Gives abandoned calls some seconds to pass, and counts those that still wait. */
    private Object leftOver(double patience) throws InterruptedException {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (waiting() > 0 && System.nanoTime() - end < 0) {
            Thread.sleep(LOOK_PAUSE_MS);
        }
        return Map.of("waiting", waiting());
    }

    private long waiting() {
        return left.stream().filter(PatientCall::running).count();
    }
}
