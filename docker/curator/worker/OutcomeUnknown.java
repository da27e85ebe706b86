package worker;

/** Nobody knows whether an operation happened: an {@code info}. The client keeps its session. */
final class OutcomeUnknown extends Exception {
    private static final long serialVersionUID = 1;

    OutcomeUnknown(Exception error) {
        this(error.getClass().getSimpleName() + ": " + error.getMessage());
    }

    OutcomeUnknown(String error) {
        super(error);
    }
}
