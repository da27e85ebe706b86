package worker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Nodes that recipes leave. */
final class Nodes {
    private Nodes() {}

    /** The children of a folder whose names contain a mark: path, owner and czxid of each. */
    static List<Object> below(CuratorFramework curator, String folder, String mark)
            throws Exception {
        List<Object> nodes = new ArrayList<>();
        List<String> names;
        try {
            curator.sync().forPath(folder);
            names = curator.getChildren().forPath(folder);
        } catch (KeeperException.NoNodeException none) {
            return nodes;
        }
        for (String name : names) {
            String path = folder + "/" + name;
            Stat stat = name.contains(mark) ? curator.checkExists().forPath(path) : null;
            if (stat != null) {
                Map<String, Object> node = new HashMap<>();
                long owner = stat.getEphemeralOwner();
                node.put("path", path);
                node.put("owner", owner == 0 ? null : Session.hex(owner));
                node.put("czxid", stat.getCzxid());
                nodes.add(node);
            }
        }
        return nodes;
    }
}
