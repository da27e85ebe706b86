/* Holds packets that a packet filter queues (NFQUEUE), and lets each pass later.
 *
 * packet-delay QUEUE:DELAY:JITTER:RATE ...
 *
 * Packets of a queue pass after DELAY microseconds, and a random part of JITTER microseconds more;
 * with jitter they may overtake each other. RATE, if it is not 0, is how many bytes pass in a
 * second; packets wait for those before them. It returns as soon as it has all queues, and goes on
 * behind: its process is in /run/packet-delay.pid. Ended by SIGTERM, it lets everything pass first.
 *
 * The kernel's own way is the queueing discipline netem, which many kernels lack; this one needs
 * what nearly all have, and tells packets apart by whatever the packet filter can.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <linux/netfilter.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <libnetfilter_queue/libnetfilter_queue.h>

#define MOST_QUEUES 64
#define ROOM (1 << 16) /* packets of a queue; what does not fit is lost, as in a full switch */
#define SECOND 1000000000LL

struct queue {
    struct nfq_q_handle *handle;
    int64_t delay, jitter, rate, busy_until;
};

struct held {
    int64_t due;
    uint64_t number;
    struct nfq_q_handle *queue;
    uint32_t packet;
};

static struct queue queues[MOST_QUEUES];
static struct held *heap;
static size_t count, room;
static uint64_t arrived;
static volatile sig_atomic_t over;

static void fail(const char *what)
{
    fprintf(stderr, "packet-delay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static int before(const struct held *one, const struct held *other)
{
    return one->due < other->due || (one->due == other->due && one->number < other->number);
}

static void hold(struct held packet)
{
    size_t place = count++;

    if (count > room) {
        room = room ? 2 * room : 1024;
        heap = realloc(heap, room * sizeof *heap);
        if (!heap)
            fail("memory");
    }
    for (; place && before(&packet, &heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    heap[place] = packet;
}

static struct held take(void)
{
    struct held first = heap[0], last = heap[--count];
    size_t place = 0, child;

    for (; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[place] = heap[child];
    }
    heap[place] = last;
    return first;
}

static int arrive(struct nfq_q_handle *handle, struct nfgenmsg *message, struct nfq_data *data,
                  void *of)
{
    struct nfqnl_msg_packet_hdr *header = nfq_get_msg_packet_hdr(data);
    struct queue *queue = of;
    struct held packet = {now(), arrived++, handle, header ? ntohl(header->packet_id) : 0};
    unsigned char *payload;
    int length = nfq_get_payload(data, &payload);

    (void)message;
    if (!header)
        return 0;
    if (queue->rate && length >= (int)sizeof(struct iphdr)) {
        int64_t begin = packet.due > queue->busy_until ? packet.due : queue->busy_until;

        queue->busy_until =
            begin + ntohs(((struct iphdr *)payload)->tot_len) * SECOND / queue->rate;
        packet.due = queue->busy_until;
    }
    packet.due += queue->delay;
    if (queue->jitter)
        packet.due += (int64_t)(drand48() * queue->jitter);
    hold(packet);
    return 0;
}

static void release(int64_t until)
{
    while (count && heap[0].due <= until) {
        struct held packet = take();

        nfq_set_verdict(packet.queue, packet.packet, NF_ACCEPT, 0, NULL);
    }
}

/* Goes on in another process, whose number is in a file when this one ends. */
static void go_behind(void)
{
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child) {
        FILE *file = fopen("/run/packet-delay.pid", "w");

        if (!file || fprintf(file, "%d\n", child) < 0 || fclose(file)) {
            kill(child, SIGKILL);
            fail("/run/packet-delay.pid");
        }
        exit(0);
    }
    setsid();
    if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        _exit(1);
}

static void end(int signal)
{
    (void)signal;
    over = 1;
}

int main(int words, char **word)
{
    struct sigaction action = {.sa_handler = end};
    struct nfq_handle *netfilter = nfq_open();
    char buffer[1 << 16];
    sigset_t termination, none;
    int on = 1, socket;

    if (!netfilter)
        fail("the kernel has no queues of packets (NFQUEUE)");
    if (words < 2 || words > MOST_QUEUES) {
        fprintf(stderr, "packet-delay: give 1 to %d of QUEUE:DELAY:JITTER:RATE\n", MOST_QUEUES - 1);
        return 2;
    }
    for (int number = 1; number < words; number++) {
        struct queue *queue = &queues[number];
        unsigned id;
        long long delay, jitter, rate;

        if (sscanf(word[number], "%u:%lld:%lld:%lld", &id, &delay, &jitter, &rate) != 4) {
            fprintf(stderr, "packet-delay: %s is not QUEUE:DELAY:JITTER:RATE\n", word[number]);
            return 2;
        }
        queue->delay = delay * 1000;
        queue->jitter = jitter * 1000;
        queue->rate = rate;
        queue->handle = nfq_create_queue(netfilter, id, arrive, queue);
        if (!queue->handle)
            fail(word[number]);
        if (nfq_set_mode(queue->handle, NFQNL_COPY_PACKET, sizeof(struct iphdr)) < 0 ||
            nfq_set_queue_maxlen(queue->handle, ROOM) < 0)
            fail(word[number]);
    }
    socket = nfq_fd(netfilter);
    /* A packet that the socket has no room for is lost, and counted by the kernel. */
    setsockopt(socket, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof on);
    nfnl_rcvbufsiz(nfq_nfnlh(netfilter), 8 << 20);
    srand48(getpid());
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&none);
    sigemptyset(&termination);
    sigaddset(&termination, SIGTERM);
    sigprocmask(SIG_BLOCK, &termination, NULL); /* it comes while we wait, and at no other time */
    go_behind();
    while (!over) {
        struct pollfd ready = {socket, POLLIN, 0};
        struct timespec wait = {3600, 0};

        if (count) {
            int64_t left = heap[0].due - now();

            wait.tv_sec = left > 0 ? left / SECOND : 0;
            wait.tv_nsec = left > 0 ? left % SECOND : 0;
        }
        if (ppoll(&ready, 1, &wait, &none) > 0) {
            int length = recv(socket, buffer, sizeof buffer, 0);

            if (length >= 0)
                nfq_handle_packet(netfilter, buffer, length);
            else if (errno != EINTR && errno != ENOBUFS)
                return 1;
        }
        release(now());
    }
    release(INT64_MAX);
    return 0;
}
