package worker;

import java.util.Map;
import java.util.function.Function;

/** The recipes by the names that they have on the command line. */
final class Recipes {
    private static final Map<String, Function<ClientContext, WorkloadClient>> RECIPES =
            Map.ofEntries(
                    Map.entry("curator-mutex", MutexContender::new),
                    Map.entry("curator-semaphore-mutex", SemaphoreMutexContender::new),
                    Map.entry("curator-semaphore", SemaphoreContender::new),
                    Map.entry("curator-read-write", ReadWriteContender::new),
                    Map.entry("curator-leader-latch", LatchContender::new),
                    Map.entry("curator-leader-selector", SelectorContender::new),
                    Map.entry(
                            "curator-path-cache", context -> new PathCacheClient(context, true)),
                    Map.entry(
                            "curator-path-cache-copied-once",
                            context -> new PathCacheClient(context, false)),
                    Map.entry(
                            "curator-shared-count",
                            context -> new CounterClient(context, SharedCounter::new)),
                    Map.entry(
                            "curator-atomic-long",
                            context -> new CounterClient(context, AtomicCounter::new)),
                    Map.entry("curator-barrier", context -> new BarrierClient(context, true)),
                    Map.entry(
                            "curator-barrier-ignores-timeouts",
                            context -> new BarrierClient(context, false)),
                    Map.entry("curator-simple-queue", QueueClient::new),
                    Map.entry("curator-double-barrier", DoubleBarrierClient::new),
                    Map.entry("curator-mutex-ignores-state", IgnoringMutexContender::new),
                    Map.entry(
                            "curator-mutex-room-for-two",
                            context -> new MutexContender(context, new RoomForTwo())));

    private Recipes() {}

    /** The client's side of the recipe that the options name. */
    static WorkloadClient open(ClientContext context) {
        Function<ClientContext, WorkloadClient> made = RECIPES.get(context.recipe());
        if (made == null) {
            throw new IllegalArgumentException("the worker knows no recipe " + context.recipe());
        }
        return made.apply(context);
    }
}
