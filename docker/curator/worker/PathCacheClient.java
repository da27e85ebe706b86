package worker;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * {@code PathChildrenCache} with the operations of workloads/view.py. The changes are not Curator's
 * matter: they are requests that are sent once, in the present session.
 */
@SuppressWarnings("deprecation") // in favour of a cache that needs ZooKeeper 3.6
final class PathCacheClient implements WorkloadClient {
    private static final int LOOK_PAUSE_MS = 200;

    private final CuratorFramework curator;
    private final String path;
    private final boolean asksAgain;
    private PathChildrenCache cache;
    private Map<String, ChildData> copy = Map.of();
    private long number;

    /** Without {@code asksAgain} a mutant: it keeps the first copy of the view that has nodes. */
    PathCacheClient(ClientContext context, boolean asksAgain) {
        this.asksAgain = asksAgain;
        curator = context.session().curator;
        path = context.path();
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        try {
            return switch (f) {
                case "follow" -> follow();
                case "unfollow" -> unfollow();
                case "look" -> looked();
                case "converge" -> converge(Values.number(value, "patience"));
                case "write" -> write((String) value.get("name"), (String) value.get("data"));
                case "remove" -> remove((String) value.get("name"));
                default -> throw new IllegalArgumentException("a follower knows no " + f);
            };
        } catch (KeeperException error) {
            if (f.equals("write") || f.equals("remove")) {
                throw new OutcomeUnknown(error);
            }
            throw new NotDone(error.toString());
        }
    }

    private Object follow() throws Exception {
        try {
            curator.create().creatingParentsIfNeeded().forPath(path);
        } catch (KeeperException.NodeExistsException there) {
            // as it should be
        }
        if (cache == null) {
            number++;
            cache = new PathChildrenCache(curator, path, true);
            cache.start();
        }
        return null;
    }

    private Object unfollow() throws Exception {
        close();
        return null;
    }

    private Object looked() {
        Map<String, Object> nodes = new HashMap<>();
        shown().forEach((name, data) -> nodes.put(name, data.getStat().getMzxid()));
        return Map.of("view", number, "nodes", nodes);
    }

    /** Waits until view and servers agree; if they never do, tells what both were last. */
    private Object converge(double patience) throws Exception {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (true) {
            Map<String, Object> there = there();
            Map<String, Object> seen = new HashMap<>();
            shown().forEach((name, data) -> seen.put(name, text(data.getData())));
            if (seen.equals(there) || System.nanoTime() - end >= 0) {
                return Map.of("seen", seen, "there", there);
            }
            Thread.sleep(LOOK_PAUSE_MS);
        }
    }

    private Map<String, ChildData> shown() {
        if (!asksAgain && !copy.isEmpty()) {
            return copy;
        }
        Map<String, ChildData> shown = new HashMap<>();
        if (cache != null) {
            for (ChildData each : cache.getCurrentData()) {
                shown.put(each.getPath().substring(path.length() + 1), each);
            }
        }
        copy = shown;
        return shown;
    }

    private Map<String, Object> there() throws Exception {
        ZooKeeper keeper = keeper();
        try { // after this write no earlier one is pending
            keeper.delete(path + "/none", -1);
        } catch (KeeperException.NoNodeException none) {
            // as it should be
        }
        Map<String, Object> there = new HashMap<>();
        for (String name : keeper.getChildren(path, false)) {
            there.put(name, text(keeper.getData(path + "/" + name, false, null)));
        }
        return there;
    }

    private Object write(String name, String data) throws Exception {
        byte[] bytes = data.getBytes(StandardCharsets.UTF_8);
        String node = path + "/" + name;
        try {
            try {
                keeper().setData(node, bytes, -1);
            } catch (KeeperException.NoNodeException none) {
                keeper().create(node, bytes, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
        } catch (KeeperException.NodeExistsException there) {
            throw new NotDone("made by somebody else");
        } catch (KeeperException.NoNodeException none) {
            throw new NotDone("gone");
        }
        return null;
    }

    private Object remove(String name) throws Exception {
        try {
            keeper().delete(path + "/" + name, -1);
        } catch (KeeperException.NoNodeException none) {
            throw new NotDone("not there");
        }
        return null;
    }

    private ZooKeeper keeper() throws Exception {
        return curator.getZookeeperClient().getZooKeeper();
    }

    private static String text(byte[] data) {
        return new String(data, StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws Exception {
        if (cache != null) {
            cache.close();
            cache = null;
            copy = Map.of();
        }
    }
}
