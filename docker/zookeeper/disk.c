/* Lets a program's disk lose what was not synced, be slow, or lie about what it has synced.
 *
 * Preloaded (LD_PRELOAD), it stands before the calls that change files below the directories in
 * RUMPUS_DISK_ROOTS (with colons between). Whatever they change is noted in $RUMPUS_DISK/journal,
 * with what was there before, and so is each fsync that made something safe. So what a power failure
 * would have taken away can be taken away later (harness/docker/unsynced.py), when the program has
 * been killed. Nothing is held back from the files themselves: without a power failure they are
 * what they would be without this.
 *
 * $RUMPUS_DISK/trouble says what is wrong, and is read at each sync: "slow N" (every fsync takes N
 * microseconds longer), "failing" (fsync fails) or "lying" (fsync does nothing, and reports
 * success). A journal is used and
 * not a layer below the file system, because that would need a privileged container.
 *
 * A record: operation, inode, offset, end of what is written, size before, time (ns, monotonic),
 * lengths of path, of second path, and of data; then these three. All numbers are as the machine
 * has them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct record {
    uint64_t operation, inode, offset, end, size, time;
    uint32_t path, second, data;
} __attribute__((packed));

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static const char *roots;
static char journal_path[PATH_MAX], trouble_path[PATH_MAX];
static int journal = -1;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "disk.so: no %s\n", name);
        abort();
    }
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    const char *place = getenv("RUMPUS_DISK");

    roots = getenv("RUMPUS_DISK_ROOTS");
    if (!place || !roots) {
        roots = "";
        return;
    }
    snprintf(journal_path, sizeof journal_path, "%s/journal", place);
    snprintf(trouble_path, sizeof trouble_path, "%s/trouble", place);
}

/* Whether a path is below one of the roots. */
static int is_ours(const char *path)
{
    const char *root = roots;

    while (*root) {
        size_t length = strcspn(root, ":");

        if (!strncmp(path, root, length) && path[length] == '/')
            return 1;
        root += length + (root[length] == ':');
    }
    return 0;
}

static int is_open_ours(int file, char *path)
{
    char link[64];
    ssize_t length;

    if (!*roots)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return is_ours(path);
}

static void note(char operation, ino_t inode, off_t offset, off_t end, off_t size,
                 const char *path, const char *second, const void *data, size_t length)
{
    struct timespec now;
    struct record record = {(uint64_t)operation, inode, (uint64_t)offset, (uint64_t)end,
                            (uint64_t)size, 0, strlen(path), strlen(second), length};
    struct iovec parts[] = {{&record, sizeof record},
                            {(void *)path, record.path},
                            {(void *)second, record.second},
                            {(void *)data, length}};
    ssize_t whole = sizeof record + record.path + record.second + length;

    clock_gettime(CLOCK_MONOTONIC, &now);
    record.time = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (journal < 0) {
        journal = REAL(open)(journal_path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666);
        if (journal >= 0)
            fchmod(journal, 0666);
    }
    if (journal < 0 || REAL(writev)(journal, parts, 4) != whole) {
        fprintf(stderr, "disk.so: %s cannot be written: %s\n", journal_path, strerror(errno));
        abort();
    }
}

/* Note bytes of an open file that are about to be changed or cut off. */
static void note_bytes(char operation, int file, const char *path, off_t offset, off_t end)
{
    struct stat status;
    char *before = NULL;
    ssize_t length = 0;
    off_t stop = end;

    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        return;
    if (stop > status.st_size)
        stop = status.st_size;
    if (offset < stop && (before = malloc(stop - offset))) {
        int reader = REAL(open)(path, O_RDONLY | O_CLOEXEC); /* the file may be open to write only */

        if (reader >= 0) {
            length = pread(reader, before, stop - offset, offset);
            close(reader);
        }
    }
    note(operation, status.st_ino, offset, end, status.st_size, path, "", before,
         length < 0 ? 0 : length);
    free(before);
}

/* Note a name that is about to go, with all that the file holds. */
static void note_name(char operation, const char *path, const char *second, const char *lost)
{
    struct stat status;
    char *before = NULL;
    ssize_t length = 0;
    int reader = REAL(open)(lost, O_RDONLY | O_CLOEXEC);

    memset(&status, 0, sizeof status);
    if (reader >= 0) {
        if (!fstat(reader, &status) && (before = malloc(status.st_size + 1)))
            length = pread(reader, before, status.st_size, 0);
        close(reader);
    }
    note(operation, status.st_ino, reader >= 0, 0, status.st_size, path, second, before,
         length < 0 ? 0 : length);
    free(before);
}

/* -- opening ---------------------------------------------------------------------------------- */

static int opened(int file, const char *path, int is_new, int flags)
{
    struct stat status;

    if (file >= 0 && is_new && (flags & O_CREAT) && !fstat(file, &status))
        note('C', status.st_ino, 0, 0, 0, path, "", NULL, 0);
    return file;
}

#define OPEN(name)                                                                              \
    int name(const char *path, int flags, ...)                                                  \
    {                                                                                           \
        mode_t mode = 0;                                                                        \
        struct stat status;                                                                     \
        int file, is_new;                                                                       \
        va_list rest;                                                                           \
                                                                                                \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                  \
            va_start(rest, flags);                                                              \
            mode = va_arg(rest, mode_t);                                                        \
            va_end(rest);                                                                       \
        }                                                                                       \
        if (!(flags & (O_CREAT | O_TRUNC)) || !is_ours(path))                                   \
            return REAL(name)(path, flags, mode);                                               \
        pthread_mutex_lock(&one_at_a_time);                                                     \
        is_new = stat(path, &status) != 0;                                                      \
        if (!is_new && (flags & O_TRUNC) && status.st_size) {                                   \
            int before = REAL(open)(path, O_RDONLY | O_CLOEXEC);                                \
                                                                                                \
            if (before >= 0) {                                                                  \
                note_bytes('T', before, path, 0, status.st_size);                               \
                close(before);                                                                  \
            }                                                                                   \
        }                                                                                       \
        file = opened(REAL(name)(path, flags, mode), path, is_new, flags);                      \
        pthread_mutex_unlock(&one_at_a_time);                                                   \
        return file;                                                                            \
    }

OPEN(open)
OPEN(open64)

/* -- writing ---------------------------------------------------------------------------------- */

/* Call NAME, having noted what it changes from OFFSET to END. */
#define CHANGING(file, operation, offset, end, type, call)                                      \
    char path[PATH_MAX];                                                                        \
    type found;                                                                                 \
                                                                                                \
    if (!is_open_ours(file, path))                                                              \
        return call;                                                                            \
    pthread_mutex_lock(&one_at_a_time);                                                         \
    note_bytes(operation, file, path, offset, end);                                             \
    found = call;                                                                               \
    pthread_mutex_unlock(&one_at_a_time);                                                       \
    return found

/* Where the next write of an open file goes. */
static off_t place_of(int file)
{
    struct stat status;

    if ((fcntl(file, F_GETFL) & O_APPEND) && !fstat(file, &status))
        return status.st_size;
    return lseek(file, 0, SEEK_CUR);
}

ssize_t write(int file, const void *data, size_t length)
{
    off_t at = *roots ? place_of(file) : 0;
    CHANGING(file, 'W', at, at + (off_t)length, ssize_t, REAL(write)(file, data, length));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    off_t at = *roots ? place_of(file) : 0, end = at;

    for (int part = 0; part < count; part++)
        end += parts[part].iov_len;
    {
        CHANGING(file, 'W', at, end, ssize_t, REAL(writev)(file, parts, count));
    }
}

ssize_t pwrite(int file, const void *data, size_t length, off_t at)
{
    CHANGING(file, 'W', at, at + (off_t)length, ssize_t, REAL(pwrite)(file, data, length, at));
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t at)
{
    CHANGING(file, 'W', at, at + (off_t)length, ssize_t, REAL(pwrite64)(file, data, length, at));
}

int ftruncate(int file, off_t size)
{
    CHANGING(file, 'T', size, LONG_MAX, int, REAL(ftruncate)(file, size));
}

int ftruncate64(int file, off64_t size)
{
    CHANGING(file, 'T', size, LONG_MAX, int, REAL(ftruncate64)(file, size));
}

/* -- names ------------------------------------------------------------------------------------ */

#define NAMING(ours, operation, path, second, lost, call)                                       \
    int found;                                                                                  \
                                                                                                \
    if (!(ours))                                                                                \
        return call;                                                                            \
    pthread_mutex_lock(&one_at_a_time);                                                         \
    note_name(operation, path, second, lost);                                                   \
    found = call;                                                                               \
    pthread_mutex_unlock(&one_at_a_time);                                                       \
    return found

int rename(const char *from, const char *to)
{
    NAMING(is_ours(to), 'R', from, to, to, REAL(rename)(from, to));
}

int unlink(const char *path)
{
    NAMING(is_ours(path), 'U', path, "", path, REAL(unlink)(path));
}

int remove(const char *path)
{
    NAMING(is_ours(path), 'U', path, "", path, REAL(remove)(path));
}

/* -- syncing ---------------------------------------------------------------------------------- */

static int synced(int file, int (*sync)(int))
{
    char path[PATH_MAX], trouble[64] = "";
    struct stat status, before;
    off_t upto = 0;
    int reader, found, fails;

    if (!is_open_ours(file, path))
        return sync(file);
    if ((reader = REAL(open)(trouble_path, O_RDONLY | O_CLOEXEC)) >= 0) {
        ssize_t length = read(reader, trouble, sizeof trouble - 1);

        trouble[length < 0 ? 0 : length] = 0;
        close(reader);
    }
    if (!strncmp(trouble, "lying", 5))
        return 0;
    /* What is written meanwhile is not made safe. */
    pthread_mutex_lock(&one_at_a_time);
    if (!stat(journal_path, &before))
        upto = before.st_size;
    pthread_mutex_unlock(&one_at_a_time);
    if (!strncmp(trouble, "slow ", 5))
        usleep((useconds_t)strtol(trouble + 5, NULL, 10));
    fails = !strncmp(trouble, "failing", 7);
    found = fails ? -1 : sync(file);
    if ((fails || !found) && !fstat(file, &status)) {
        pthread_mutex_lock(&one_at_a_time);
        note(fails ? 'F' : 'S', status.st_ino, upto, 0, status.st_size, path, "", NULL, 0);
        pthread_mutex_unlock(&one_at_a_time);
    }
    if (fails)
        errno = EIO;
    return found;
}

int fsync(int file)
{
    return synced(file, REAL(fsync));
}

int fdatasync(int file)
{
    return synced(file, REAL(fdatasync));
}
