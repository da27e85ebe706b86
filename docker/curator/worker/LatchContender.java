package worker;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;

/**
 * {@code LeaderLatch}, a new one for each campaign. A term ends when the listener is told so, even
 * if the latch comes to lead again by itself.
 */
final class LatchContender extends Contender {
    /** One campaign, and the term that follows. */
    private final class Term implements LeaderLatchListener {
        final LeaderLatch latch =
                new LeaderLatch(curator, context.path(), "c" + context.client());
        volatile boolean over;

        Term() {
            latch.addListener(this);
        }

        @Override
        public void isLeader() {}

        @Override
        public void notLeader() {
            over = true;
            context.lookAtBelief().run();
        }
    }

    private final boolean awaits;
    private volatile Term term;

    /** Without {@code awaits} a mutant: it does not look what await returns. */
    LatchContender(ClientContext context, boolean awaits) {
        super(context, "campaign", "lead", "resign");
        this.awaits = awaits;
    }

    @Override
    protected boolean enter(long timeoutMs, Map<String, Object> value) throws Exception {
        close();
        Term candidate = new Term();
        term = candidate;
        candidate.latch.start();
        if (candidate.latch.await(timeoutMs, TimeUnit.MILLISECONDS) || !awaits) {
            return true;
        }
        close();
        return false;
    }

    @Override
    protected void leave() throws Exception {
        if (term == null) {
            throw new NotDone("not leading");
        }
        close();
    }

    @Override
    protected String node() {
        return term.latch.getOurPath();
    }

    @Override
    protected boolean granted() {
        Term now = term;
        return now != null && !now.over;
    }

    @Override
    protected Map<String, String> lines() {
        return Map.of(context.path(), "latch-");
    }

    @Override
    public void close() throws Exception {
        Term ended = term;
        term = null;
        if (ended != null) {
            ended.latch.removeListener(ended);
            ended.latch.close();
        }
    }
}
