package worker;

import java.util.Random;

/** When a client is stopped and started again, as {@link Usage} says. */
final class Stops {
    private final Usage usage;
    private final Runnable restart;
    private final Random draws = new Random();
    private Meanwhile meanwhile;
    private long nextPeriod = System.nanoTime();

    /** The second argument stops the client and starts it; it is called by any thread. */
    Stops(Usage usage, Runnable restart) {
        this.usage = usage;
        this.restart = restart;
    }

    /**
     * Called before each operation. A use begins with one that asks for a grant, and every so many
     * seconds where nothing is granted. In the final phase there are no stops.
     */
    void before(Life life, String f, boolean last) throws InterruptedException {
        String grants = life.workload.grants();
        if (last) {
            end();
        } else if (grants.isEmpty()) {
            beginPeriod();
        } else if (f.equals(grants) && !life.believes()) {
            draw();
            if (draws.nextDouble() < usage.restarts()) {
                restart.run();
            }
        }
    }

    private void beginPeriod() throws InterruptedException {
        long now = System.nanoTime();
        if (now - nextPeriod >= 0) {
            draw();
            nextPeriod = now + Math.round(Usage.MOMENTS_S[Usage.MOMENTS_S.length - 1] * 1e9);
        }
    }

    private void draw() throws InterruptedException {
        end();
        if (draws.nextDouble() < usage.interrupts()) {
            double longest = Usage.MOMENTS_S[draws.nextInt(Usage.MOMENTS_S.length)];
            meanwhile = new Meanwhile(restart, draws.nextDouble() * longest);
        }
    }

    /** Returns once a stop that has begun is over; none begins any more. */
    void end() throws InterruptedException {
        if (meanwhile != null) {
            meanwhile.end();
            meanwhile = null;
        }
    }
}
