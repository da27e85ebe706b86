package worker;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import java.util.Properties;
import org.apache.curator.framework.CuratorFramework;

/**
 * The process of one client: connects to the control process, which tells what to run.
 *
 * <p>The environment has the port of the control process on the loopback address (RUMPUS_PORT) and
 * a secret that it knows the worker by (RUMPUS_TOKEN). The process connects twice: for the commands
 * of its client, and for those of {@link ThreadStaller}. It ends with the first of the two.
 */
final class Worker {
    private Worker() {}

    /** Connects, receives the assignment, and obeys commands until the channel ends. */
    public static void main(String[] arguments) throws Exception {
        Channel channel = connect();
        Thread staller = new Thread(new ThreadStaller(connect()), "stall");
        staller.setDaemon(true);
        staller.start();
        Map<String, Object> assignment = channel.receive();
        if (assignment != null) {
            new ClientBody(channel, assignment).run();
        }
        // Threads of a recipe may still run or hang: they end here with the process.
        Runtime.getRuntime().halt(0);
    }

    private static Channel connect() throws IOException {
        int port = Integer.parseInt(System.getenv("RUMPUS_PORT"));
        Channel channel = new Channel(new Socket(InetAddress.getLoopbackAddress(), port));
        // The clock lets the control process verify that both read the same one.
        String token = System.getenv("RUMPUS_TOKEN");
        channel.send("Hello", Map.of("token", token, "clock", System.nanoTime()));
        return channel;
    }

    /** The version of Curator that was loaded. */
    static String curatorVersion() {
        Properties properties = new Properties();
        String place = "/META-INF/maven/org.apache.curator/curator-framework/pom.properties";
        try (InputStream found = CuratorFramework.class.getResourceAsStream(place)) {
            properties.load(found);
        } catch (IOException error) {
            throw new IllegalStateException("the version of Curator cannot be read", error);
        }
        return properties.getProperty("version");
    }
}
