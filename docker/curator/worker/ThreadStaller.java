package worker;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Keeps one thread of this process from running when the control process asks for it, while the
 * others run on. {@code Thread.suspend} does it, which Java has up to version 20.
 */
final class ThreadStaller implements Runnable {
    /** Groups of the threads that every JVM has. */
    private static final Set<String> JVM = Set.of("system", "InnocuousThreadGroup");

    /** Threads that no application has: the harness's own. */
    private static final Set<String> OWN = Set.of("belief", "stall");

    private final Channel channel;
    private Thread stalled;

    /** The argument is a channel of its own: the other one's thread may be the one to stall. */
    ThreadStaller(Channel channel) {
        this.channel = channel;
    }

    /** Obeys until the channel ends; then all threads run. */
    @Override
    public void run() {
        for (Map<String, Object> command = channel.receive();
                command != null;
                command = channel.receive()) {
            resume();
            if (command.get("message").equals("Stall")) {
                stall(((Number) command.get("choice")).doubleValue());
            }
            Map<String, Object> fields = new HashMap<>();
            fields.put("thread", stalled == null ? null : stalled.getName());
            channel.send("Stalled", fields);
        }
        resume();
    }

    @SuppressWarnings("removal")
    private void stall(double choice) {
        List<Thread> threads = candidates();
        stalled = threads.get((int) (choice * threads.size()));
        stalled.suspend();
    }

    @SuppressWarnings("removal")
    private void resume() {
        if (stalled != null) {
            stalled.resume();
            stalled = null;
        }
    }

    /** The application's threads, the oldest first: the main one is. */
    private static List<Thread> candidates() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(ThreadStaller::isOfTheApplication)
                .filter(each -> !OWN.contains(each.getName()))
                .sorted(Comparator.comparingLong(Thread::getId))
                .toList();
    }

    private static boolean isOfTheApplication(Thread thread) {
        ThreadGroup group = thread.getThreadGroup(); // null: it has ended since
        return group != null && !JVM.contains(group.getName());
    }
}
