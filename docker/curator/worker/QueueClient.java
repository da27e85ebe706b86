package worker;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;

/** A queue, with the operations of workloads/queues/queue.py. */
abstract class QueueClient implements WorkloadClient {
    private static final int LOOK_PAUSE_MS = 200;

    protected final CuratorFramework curator;

    protected QueueClient(ClientContext context) {
        curator = context.session().curator;
    }

    /** Puts an element. */
    protected abstract void put(byte[] element) throws Exception;

    /** Waits for an element, and takes or claims it; null if there came none. */
    protected abstract byte[] take(long timeoutMs) throws Exception;

    /** The folder of the elements' nodes. */
    protected abstract String elements();

    /** The element that a node's data hold. */
    protected byte[] element(byte[] data) throws Exception {
        return data;
    }

    /** Removes an element for good (or gives it back) that was claimed. */
    protected void end(String element, boolean keep) throws Exception {
        throw new NotDone("elements are not claimed here");
    }

    /** The nodes of claims that stand. */
    protected List<Object> claims() throws Exception {
        return List.of();
    }

    @Override
    public Object invoke(String f, Map<String, Object> value) throws Exception {
        try {
            switch (f) {
                case "enqueue" -> put(bytes((String) value.get("value")));
                case "dequeue" -> {
                    byte[] element = take(Values.millis(Values.number(value, "timeout")));
                    if (element == null) { // others may have been quicker: it was not always empty
                        throw new NotDone("found nothing");
                    }
                    return Map.of("value", text(element));
                }
                case "work" -> Values.sleep(Values.number(value, "seconds"));
                case "acknowledge" -> end((String) value.get("value"), false);
                case "release" -> end((String) value.get("value"), true);
                case "leave" -> throw new Leaves();
                case "inspect" -> {
                    return inspect(Values.number(value, "patience"));
                }
                default -> throw new IllegalArgumentException("a queue's client knows no " + f);
            }
            return null;
        } catch (KeeperException error) {
            if (f.equals("inspect")) {
                throw new NotDone(error.toString());
            }
            throw new OutcomeUnknown(error);
        }
    }

    /** Looks what is left, until there is nothing or the time is up. */
    private Object inspect(double patience) throws Exception {
        long end = System.nanoTime() + Math.round(patience * 1e9);
        while (true) {
            List<Object> elements = left();
            List<Object> nodes = claims();
            if (elements.isEmpty() && nodes.isEmpty() || System.nanoTime() - end >= 0) {
                Map<String, Object> left = new HashMap<>();
                left.put("elements", elements);
                left.put("nodes", nodes);
                return left;
            }
            Thread.sleep(LOOK_PAUSE_MS);
        }
    }

    /** The elements that are in the queue. */
    protected List<Object> left() throws Exception {
        String folder = elements();
        List<Object> elements = new ArrayList<>();
        try {
            curator.sync().forPath(folder);
            List<String> names = new ArrayList<>(curator.getChildren().forPath(folder));
            Collections.sort(names);
            for (String name : names) {
                elements.add(text(element(curator.getData().forPath(folder + "/" + name))));
            }
        } catch (KeeperException.NoNodeException none) {
            if (curator.checkExists().forPath(folder) != null) {
                throw none; // an element was removed while we looked: look again
            }
        }
        return elements;
    }

    private static byte[] bytes(String element) {
        return element.getBytes(StandardCharsets.UTF_8);
    }

    protected static String text(byte[] element) {
        return new String(element, StandardCharsets.UTF_8);
    }
}
