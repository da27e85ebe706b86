package worker;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.zookeeper.KeeperException;

/** {@code SimpleDistributedQueue}, with the operations of workloads/queues/queue.py. */
final class QueueClient implements WorkloadClient {
    private static final int LOOK_PAUSE_MS = 200;

    private final CuratorFramework curator;
    private final String path;
    private final SimpleDistributedQueue queue;

    QueueClient(ClientContext context) {
        curator = context.session().curator;
        path = context.path();
        queue = new SimpleDistributedQueue(curator, path);
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        try {
            return switch (f) {
                case "enqueue" -> put((String) value.get("value"));
                case "dequeue" -> take(Values.number(value, "timeout"));
                case "leave" -> throw new Leaves();
                case "inspect" -> inspect(Values.number(value, "patience"));
                default -> throw new IllegalArgumentException("a queue's client knows no " + f);
            };
        } catch (KeeperException error) {
            if (f.equals("inspect")) {
                throw new NotDone(error.toString());
            }
            throw new OutcomeUnknown(error);
        }
    }

    private Object put(String element) throws Exception {
        queue.offer(element.getBytes(StandardCharsets.UTF_8));
        return null;
    }

    private Object take(double timeout) throws Exception {
        byte[] element = queue.poll(Values.millis(timeout), TimeUnit.MILLISECONDS);
        if (element == null) { // the queue need not have been empty: others may have been quicker
            throw new NotDone("found nothing");
        }
        return Map.of("value", new String(element, StandardCharsets.UTF_8));
    }

    /** Looks which elements are left, until there are none or the time is up. */
    private Object inspect(double patience) throws Exception {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (true) {
            List<Object> elements = left();
            if (elements.isEmpty() || System.nanoTime() - end >= 0) {
                Map<String, Object> left = new HashMap<>();
                left.put("elements", elements);
                left.put("nodes", List.of());
                return left;
            }
            Thread.sleep(LOOK_PAUSE_MS);
        }
    }

    private List<Object> left() throws Exception {
        List<Object> elements = new ArrayList<>();
        try {
            curator.sync().forPath(path);
            List<String> names = new ArrayList<>(curator.getChildren().forPath(path));
            Collections.sort(names);
            for (String name : names) {
                byte[] data = curator.getData().forPath(path + "/" + name);
                elements.add(new String(data, StandardCharsets.UTF_8));
            }
        } catch (KeeperException.NoNodeException none) {
            if (curator.checkExists().forPath(path) != null) {
                throw none; // an element was removed while we looked: look again
            }
        }
        return elements;
    }
}
