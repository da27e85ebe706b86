package worker;

/** Asks to have the client closed, and opened again with a new session. */
final class Leaves extends Exception {
    private static final long serialVersionUID = 1;
}
