package worker;

import java.util.Map;

/** The values of calls. */
final class Values {
    private Values() {}

    /** A number; 0 if it is missing. */
    static double number(Map<String, Object> value, String name) {
        Object found = value.get(name);
        return found == null ? 0.0 : ((Number) found).doubleValue();
    }

    /** Seconds as milliseconds. */
    static long millis(double seconds) {
        return Math.round(seconds * 1000);
    }

    /** Sleeps so many seconds. */
    static void sleep(double seconds) throws InterruptedException {
        if (seconds > 0) {
            Thread.sleep(millis(seconds));
        }
    }
}
