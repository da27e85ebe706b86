package worker;

import java.util.Map;
import java.util.function.Function;

/** The recipes, and their mutants, by the names that they have on the command line. */
final class Recipes {
    private static final Map<String, Function<ClientContext, WorkloadClient>> RECIPES =
            Map.ofEntries(
                    Map.entry("curator-mutex", MutexContender::new),
                    Map.entry("curator-mutex-ignores-state", IgnoringMutexContender::new),
                    Map.entry(
                            "curator-mutex-room-for-two",
                            context -> new MutexContender(context, new RoomForTwo())),
                    Map.entry("curator-semaphore-mutex", SemaphoreMutexContender::new),
                    Map.entry("curator-semaphore", semaphore(SemaphoreContender.PERMITS)),
                    Map.entry(
                            "curator-semaphore-room-for-one-more",
                            semaphore(SemaphoreContender.PERMITS + 1)),
                    Map.entry(
                            "curator-read-write",
                            context -> new ReadWriteContender(context, true)),
                    Map.entry(
                            "curator-read-write-only-reads",
                            context -> new ReadWriteContender(context, false)),
                    Map.entry(
                            "curator-leader-latch", context -> new LatchContender(context, true)),
                    Map.entry(
                            "curator-leader-latch-does-not-wait",
                            context -> new LatchContender(context, false)),
                    Map.entry(
                            "curator-leader-selector",
                            context -> new SelectorContender(context, true)),
                    Map.entry(
                            "curator-leader-selector-ignores-state",
                            context -> new SelectorContender(context, false)),
                    Map.entry(
                            "curator-path-cache", context -> new PathCacheClient(context, true)),
                    Map.entry(
                            "curator-path-cache-copied-once",
                            context -> new PathCacheClient(context, false)),
                    Map.entry("curator-shared-count", sharedCount(true)),
                    Map.entry("curator-shared-count-sets", sharedCount(false)),
                    Map.entry("curator-atomic-long", atomicLong(true)),
                    Map.entry("curator-atomic-long-does-not-ask", atomicLong(false)),
                    Map.entry("curator-barrier", context -> new BarrierClient(context, true)),
                    Map.entry(
                            "curator-barrier-ignores-timeouts",
                            context -> new BarrierClient(context, false)),
                    Map.entry(
                            "curator-simple-queue", context -> new SimpleQueueClient(context, true)),
                    Map.entry(
                            "curator-simple-queue-peeks",
                            context -> new SimpleQueueClient(context, false)),
                    Map.entry("curator-queue", queue(false, true)),
                    Map.entry("curator-queue-locked", queue(true, true)),
                    Map.entry("curator-queue-locked-returns-early", queue(true, false)),
                    Map.entry(
                            "curator-double-barrier",
                            context -> new DoubleBarrierClient(context, context.clients())),
                    Map.entry(
                            "curator-double-barrier-one-fewer",
                            context -> new DoubleBarrierClient(context, context.clients() - 1)));

    private Recipes() {}

    private static Function<ClientContext, WorkloadClient> semaphore(int permits) {
        return context -> new SemaphoreContender(context, permits);
    }

    private static Function<ClientContext, WorkloadClient> sharedCount(boolean compares) {
        return context ->
                new CounterClient(
                        context, (curator, path) -> new SharedCounter(curator, path, compares));
    }

    private static Function<ClientContext, WorkloadClient> atomicLong(boolean asks) {
        return context ->
                new CounterClient(
                        context, (curator, path) -> new AtomicCounter(curator, path, asks));
    }

    private static Function<ClientContext, WorkloadClient> queue(
            boolean claims, boolean waits) {
        return context -> new DistributedQueueClient(context, claims, waits);
    }

    /** The client's side of the recipe that the options name. */
    static WorkloadClient open(ClientContext context) {
        Function<ClientContext, WorkloadClient> made = RECIPES.get(context.recipe());
        if (made == null) {
            throw new IllegalArgumentException("the worker knows no recipe " + context.recipe());
        }
        return made.apply(context);
    }
}
