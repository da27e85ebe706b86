package worker;

import java.util.Map;

/**
 * How often a client is stopped and started again; the parts of {@code Usage}
 * (harness/generators/usage.py) that a client performs. The others are the load's.
 *
 * @param restarts share of the uses before which it is
 * @param interrupts share of the uses during which another thread of the program does it
 */
record Usage(double restarts, double interrupts) {
    /** How late in a use it is stopped, at the latest, in seconds: {@code MOMENTS_S} in Python. */
    static final double[] MOMENTS_S = {0.005, 0.05, 0.5, 3.0};

    /** The usage of a run's options: {@code name=value}, separated by commas; none if it is usual. */
    static Usage of(Map<String, Object> options) {
        String words = (String) options.getOrDefault("usage", "");
        return new Usage(share(words, "restarts"), share(words, "interrupts"));
    }

    private static double share(String words, String name) {
        for (String word : words.split(",")) {
            if (word.startsWith(name + "=")) {
                return Double.parseDouble(word.substring(name.length() + 1));
            }
        }
        return 0;
    }
}
