package worker;

/** A mutant: a user of {@code InterProcessMutex} who ignores the state of the connection. */
final class IgnoringMutexContender extends MutexContender {
    IgnoringMutexContender(ClientContext context) {
        super(context);
    }

    @Override
    protected boolean heeds() {
        return false;
    }

    @Override
    protected boolean granted() {
        return isAcquired();
    }
}
