/* Lets a program see a wall clock that is some seconds ahead of the host's.
 *
 * Preloaded (LD_PRELOAD), it replaces gettimeofday, by which Redis knows the time. The seconds are
 * in the file /tmp/clock, as text of 16 characters, and are read through shared memory: Redis asks
 * for the time several times a command. The monotonic clock stays right. libfaketime cannot be
 * used: it and jemalloc, which Redis allocates by, call each other without end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *seconds;

__attribute__((constructor)) static void map_clock(void)
{
    int file = open("/tmp/clock", O_RDONLY | O_CLOEXEC);
    void *memory = MAP_FAILED;

    if (file >= 0) {
        memory = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
    if (memory == MAP_FAILED) {
        perror("wall-clock: /tmp/clock");
        exit(1);
    }
    seconds = memory;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec host;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &host);
    now->tv_sec = host.tv_sec + strtol(seconds, NULL, 10);
    now->tv_usec = host.tv_nsec / 1000;
    return 0;
}
