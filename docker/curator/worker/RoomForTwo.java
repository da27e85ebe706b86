package worker;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.PredicateResults;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;

/** A mutant's rule of who has a mutex: the first two in the queue. */
final class RoomForTwo extends StandardLockInternalsDriver {
    @Override
    public PredicateResults getsTheLock(
            CuratorFramework client, List<String> children, String node, int maxLeases)
            throws Exception {
        return super.getsTheLock(client, children, node, maxLeases + 1);
    }
}
