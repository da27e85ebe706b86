/* Lets a program see a wall clock that is some seconds ahead of the host's.
 *
 * Preloaded (LD_PRELOAD), it replaces gettimeofday, by which Redis knows the time. The seconds are
 * in the file /tmp/clock. The monotonic clock stays right. libfaketime cannot be used: it and
 * jemalloc, which Redis allocates by, call each other without end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    char text[32];
    int done = (int)syscall(SYS_gettimeofday, now, zone);
    int file = open("/tmp/clock", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return done;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (done == 0 && length > 0) {
        text[length] = '\0';
        now->tv_sec += strtol(text, NULL, 10);
    }
    return done;
}
