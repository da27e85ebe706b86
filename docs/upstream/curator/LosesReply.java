import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Between a client and a ZooKeeper server: once, a request takes effect, and the connection breaks
 * before its reply arrives.
 */
final class LosesReply implements AutoCloseable {
    static final Set<Integer> CREATE = Set.of(1, 15);
    static final Set<Integer> DELETE = Set.of(2);
    static final Set<Integer> SET_DATA = Set.of(5);

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int server;
    private final AtomicReference<Set<Integer>> wanted = new AtomicReference<>();
    private volatile Runnable before = () -> {};
    private final AtomicBoolean lost = new AtomicBoolean();

    /** In front of the server at this port. */
    LosesReply(int server) throws IOException {
        this.server = server;
        start(this::accept);
    }

    String connectString() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** The reply to the next request of one of these types (ZooDefs.OpCode) is lost. */
    void loseReplyTo(Set<Integer> types) {
        wanted.set(types);
    }

    /** The same; and this happens before the request reaches the server. */
    void loseReplyTo(Set<Integer> types, Runnable happens) {
        before = happens;
        wanted.set(types);
    }

    /** Whether that has happened. */
    boolean hasLost() {
        return lost.get();
    }

    private void accept() throws IOException {
        while (true) {
            new Link(listener.accept());
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void start(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (IOException over) {
                // one of the two has closed its end
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** One connection. A frame is a length and a body, which begins with the request's number. */
    private final class Link {
        private static final int NONE = Integer.MIN_VALUE;

        private final Socket client;
        private final Socket upstream;
        private volatile int number = NONE;

        Link(Socket client) throws IOException {
            this.client = client;
            this.upstream = new Socket(InetAddress.getLoopbackAddress(), server);
            start(() -> pass(client, upstream, true));
            start(() -> pass(upstream, client, false));
        }

        private void pass(Socket from, Socket to, boolean requests) throws IOException {
            try {
                DataInputStream in = new DataInputStream(from.getInputStream());
                DataOutputStream out = new DataOutputStream(to.getOutputStream());
                for (boolean first = true; ; first = false) { // the first frames begin the session
                    byte[] body = new byte[in.readInt()];
                    in.readFully(body);
                    if (!first && requests) {
                        note(body);
                    } else if (!first && intAt(body, 0) == number) {
                        lost.set(true);
                        return;
                    }
                    byte[] frame = new byte[4 + body.length];
                    java.nio.ByteBuffer.wrap(frame).putInt(body.length).put(body);
                    out.write(frame);
                }
            } finally {
                client.close();
                upstream.close();
            }
        }

        private void note(byte[] request) {
            Set<Integer> types = wanted.get();
            if (types != null && types.contains(intAt(request, 4)) && wanted.compareAndSet(types, null)) {
                number = intAt(request, 0);
                before.run();
            }
        }

        private int intAt(byte[] body, int place) {
            return java.nio.ByteBuffer.wrap(body).getInt(place);
        }
    }
}
