package worker;

import java.util.Map;
import java.util.function.Function;

/** The recipes by the names that they have on the command line. */
final class Recipes {
    private static final Map<String, Function<ClientContext, WorkloadClient>> RECIPES =
            Map.of("curator-mutex", MutexContender::new);

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
