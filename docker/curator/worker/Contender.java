package worker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * One client of a contest: it waits for its turn, acts while it holds, and lets go. It has the
 * operations of workloads/contests/contender.py, and heeds the state of the connection as Curator's
 * documentation says: while SUSPENDED it does not rely on what it holds, after LOST never again.
 */
abstract class Contender implements WorkloadClient {
    private static final int LOOK_PAUSE_MS = 200;

    protected final ClientContext context;
    protected final CuratorFramework curator;
    private final String acquire;
    private final String work;
    private final String release;
    private volatile boolean connected = true;
    private volatile Hold hold;
    private int depth;

    /** What was granted: by which node, in which session. */
    private static final class Hold {
        final String node;
        final String session;
        volatile boolean lost;

        Hold(String node, String session) {
            this.node = node;
            this.session = session;
        }

        Map<String, Object> grant() {
            Map<String, Object> value = new HashMap<>();
            value.put("session", session);
            value.put("token", null);
            value.put("node", node);
            return value;
        }
    }

    /** The last three arguments are the family's words for the operations. */
    protected Contender(ClientContext context, String acquire, String work, String release) {
        this.context = context;
        this.curator = context.session().curator;
        this.acquire = acquire;
        this.work = work;
        this.release = release;
    }

    protected Contender(ClientContext context) {
        this(context, "acquire", "work", "release");
    }

    // What a recipe defines.

    /**
     * Waits for the grant; whether it was granted.
     *
     * @throws KeeperException nobody knows whether a node of ours is left
     */
    protected abstract boolean enter(long timeoutMs, Map<String, Object> value) throws Exception;

    /** Releases. */
    protected abstract void leave() throws Exception;

    /** The full path of our own node while it is granted; null if the recipe does not tell. */
    protected abstract String node() throws Exception;

    /** The folder of the contenders' nodes -> what their names contain. */
    protected abstract Map<String, String> lines();

    /** Whether the recipe still says that we hold. */
    protected boolean granted() {
        return true;
    }

    /** Whether the user heeds the state of the connection. */
    protected boolean heeds() {
        return true;
    }

    // The operations.

    @Override
    public String grants() {
        return acquire;
    }

    @Override
    public String ends() {
        return release;
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        try {
            if (f.equals(acquire)) {
                return acquire(value);
            } else if (f.equals(work)) {
                return work(value);
            } else if (f.equals(release)) {
                release();
                return null;
            } else if (f.equals("inspect")) {
                return inspect(Values.number(value, "patience"));
            }
        } catch (KeeperException error) {
            if (f.equals("inspect")) {
                throw new NotDone(error.toString());
            }
            throw new OutcomeUnknown(error);
        }
        throw new IllegalArgumentException("a client of " + context.recipe() + " knows no " + f);
    }

    @Override
    public boolean believes() {
        Hold now = hold;
        return now != null && connected && !now.lost && granted();
    }

    @Override
    public void stateChanged(ConnectionState state) {
        if (!heeds()) {
            return;
        }
        connected = state.isConnected();
        Hold now = hold;
        if (state == ConnectionState.LOST && now != null) {
            now.lost = true;
        }
    }

    private Object acquire(Map<String, Object> value) throws Exception {
        Hold before = hold;
        if (before != null && before.lost) {
            // A user who knows that it is lost does not take the same object for a holder's.
            hold = null;
            while (depth > 0) {
                depth--;
                leave();
            }
        }
        String sessionBefore = context.session().current();
        if (!enter(Values.millis(Values.number(value, "timeout")), value)) {
            throw new NotDone("timed out");
        }
        String node = node();
        before = hold;
        if (before == null || !Objects.equals(before.node, node)) {
            String session = context.session().current();
            if (!session.equals(sessionBefore)) {
                session = ownerOf(node, session);
            }
            hold = new Hold(node, session);
        }
        depth++;
        return hold.grant();
    }

    private String ownerOf(String node, String otherwise) throws Exception {
        Stat stat = node == null ? null : curator.checkExists().forPath(node);
        return stat == null ? otherwise : Session.hex(stat.getEphemeralOwner());
    }

    private void release() throws Exception {
        Hold now = hold;
        if (depth <= 1) {
            hold = null;
        }
        depth = Math.max(0, depth - 1);
        leave();
        if (now != null && depth == 0) {
            String session = context.session().current();
            if (now.lost || !session.equals(now.session)) {
                throw new NotDone("the session that held it has ended");
            }
        }
    }

    /** Acts as holders do: looks whether it still holds, then touches the resource. */
    private Object work(Map<String, Object> value) throws Exception {
        long acts = ((Number) value.getOrDefault("acts", 3L)).longValue();
        double pause = Values.number(value, "pause");
        double seconds = Values.number(value, "seconds");
        long done = 0;
        while (done < acts) {
            if (!believes()) {
                if (done == 0) { // else such a client would acquire and release without a pause
                    Values.sleep(acts * pause);
                }
                throw new NotDone("no longer held", Map.of("acts", done));
            }
            Values.sleep(seconds);
            if (done > 0) {
                Values.sleep(pause);
            }
            Map<String, Object> answer = context.act().get();
            if (!(Boolean) answer.get("accepted")) {
                throw new NotDone("refused by the fence", Map.of("acts", done));
            }
            done++;
        }
        return Map.of("acts", done);
    }

    /** Looks which contenders' nodes are left, until there are none or the time is up. */
    private Object inspect(double patience) throws Exception {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (true) {
            List<Object> nodes = left();
            if (nodes.isEmpty() || System.nanoTime() - end >= 0) {
                return Map.of("nodes", nodes);
            }
            Thread.sleep(LOOK_PAUSE_MS);
        }
    }

    private List<Object> left() throws Exception {
        List<Object> nodes = new ArrayList<>();
        for (Map.Entry<String, String> line : lines().entrySet()) {
            nodes.addAll(Nodes.below(curator, line.getKey(), line.getValue()));
        }
        return nodes;
    }
}
