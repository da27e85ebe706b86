package worker;

/** An operation did not happen: a {@code fail}, with a value or without. */
final class NotDone extends Exception {
    private static final long serialVersionUID = 1;

    final transient Object value;

    NotDone(String error, Object value) {
        super(error);
        this.value = value;
    }

    NotDone(String error) {
        this(error, null);
    }
}
