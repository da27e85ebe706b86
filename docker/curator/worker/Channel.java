package worker;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.Value;

/**
 * Messages to and from the control process, see harness/clients/messages.py: a frame is a four-byte
 * big-endian length and a MessagePack map, whose entry {@code message} says what it is.
 */
final class Channel {
    private final DataInputStream in;
    private final DataOutputStream out;

    Channel(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        in = new DataInputStream(socket.getInputStream());
        // A whole message is one segment.
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /** Sends a message; from any thread. Ends this process if the control process is gone. */
    void send(String message, Map<String, Object> fields) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packer.packMapHeader(fields.size() + 1);
            packer.packString("message").packString(message);
            for (Map.Entry<String, Object> each : fields.entrySet()) {
                packer.packString(each.getKey());
                pack(packer, each.getValue());
            }
            byte[] body = packer.toByteArray();
            synchronized (out) {
                out.writeInt(body.length);
                out.write(body);
                out.flush();
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(1);
        }
    }

    /** The next message; null when the control process has closed the channel. */
    Map<String, Object> receive() {
        try {
            byte[] body = new byte[in.readInt()];
            in.readFully(body);
            try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(body)) {
                return map(unpack(unpacker.unpackValue()));
            }
        } catch (IOException gone) {
            return null;
        }
    }

    /** A value that is a map with texts as keys. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    private static void pack(MessageBufferPacker packer, Object value) throws IOException {
        if (value == null) {
            packer.packNil();
        } else if (value instanceof Boolean truth) {
            packer.packBoolean(truth);
        } else if (value instanceof Integer || value instanceof Long) {
            packer.packLong(((Number) value).longValue());
        } else if (value instanceof Double number) {
            packer.packDouble(number);
        } else if (value instanceof List<?> list) {
            packer.packArrayHeader(list.size());
            for (Object each : list) {
                pack(packer, each);
            }
        } else if (value instanceof Map<?, ?> map) {
            packer.packMapHeader(map.size());
            for (Map.Entry<?, ?> each : map.entrySet()) {
                packer.packString((String) each.getKey());
                pack(packer, each.getValue());
            }
        } else if (value instanceof String text) {
            packer.packString(text);
        } else {
            throw new IllegalArgumentException("no message has a " + value.getClass());
        }
    }

    private static Object unpack(Value value) {
        return switch (value.getValueType()) {
            case NIL -> null;
            case BOOLEAN -> value.asBooleanValue().getBoolean();
            case INTEGER -> value.asIntegerValue().asLong();
            case FLOAT -> value.asFloatValue().toDouble();
            case STRING -> value.asStringValue().asString();
            case ARRAY -> {
                List<Object> list = new ArrayList<>();
                value.asArrayValue().forEach(each -> list.add(unpack(each)));
                yield list;
            }
            case MAP -> {
                Map<String, Object> map = new HashMap<>();
                value.asMapValue()
                        .map()
                        .forEach((key, each) -> map.put(key.asStringValue().asString(), unpack(each)));
                yield map;
            }
            default -> throw new IllegalArgumentException("no message has " + value);
        };
    }
}
