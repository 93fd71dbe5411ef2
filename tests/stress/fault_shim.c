/* Makes one system call of a program fail, fall short or meet a signal; for tests, on Linux.
 *
 * Loaded with LD_PRELOAD. Only calls about FAULT_FOLDER and its contents count, or, if
 * FAULT_DESCRIPTOR is set, only those about that descriptor. Each of them is logged as a line
 * "main|worker <pid> <kind>[!] <call> <path>[ -> <path>]" in FAULT_TRACE, so that an undisturbed run
 * gives their number. The exclamation mark is for calls with a fault.
 *
 * FAULT_KINDS   "write" or "open,close,...": the calls that count for FAULT_AT
 * FAULT_AT      the number of the call that gets the fault, from 1; 0: none
 * FAULT_ACTION  errno (it fails with FAULT_NUMBER), short (it does half of its work),
 *               signal (FAULT_NUMBER is sent to the process just before it),
 *               delay (it is made FAULT_NUMBER milliseconds later)
 * FAULT_STICKY  1: every later call gets the fault, too, as on a disk that stays full
 * FAULT_WHO     main (the process that was started) or worker (those it forks); each process
 *               counts its own calls
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum outcome { PASS, FAIL, SHORT };

static const char *folder, *kinds, *action;
static long at, number, seen;
static int descriptor = -1, sticky, on_worker, trace = -1;
static pid_t first, counted;

static long number_of(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("FAULT_TRACE"), *who = getenv("FAULT_WHO");
    folder = getenv("FAULT_FOLDER");
    kinds = getenv("FAULT_KINDS");
    action = getenv("FAULT_ACTION");
    at = number_of("FAULT_AT", 0);
    number = number_of("FAULT_NUMBER", 0);
    descriptor = number_of("FAULT_DESCRIPTOR", -1);
    sticky = number_of("FAULT_STICKY", 0);
    on_worker = who && !strcmp(who, "worker");
    first = counted = getpid();
    if (log) {
        int opened = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
        trace = syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, 700);
        syscall(SYS_close, opened);
    }
}

static int is_inside(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    return folder && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* The path of a descriptor. */
static const char *path_of(int fd, char *room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, room, PATH_MAX - 1);
    room[length < 0 ? 0 : length] = 0;
    return room;
}

/* The full path of a name relative to a folder. */
static const char *path_at(int fd, const char *name, char *room) {
    if (!name || name[0] == '/') return name ? name : "";
    if (fd != AT_FDCWD) path_of(fd, room);
    else if (!getcwd(room, PATH_MAX)) room[0] = 0;
    size_t length = strlen(room);
    snprintf(room + length, PATH_MAX - length, "%s%s", *name ? "/" : "", name);
    return room;
}

static int is_struck_kind(const char *kind) {
    const char *found = kinds ? strstr(kinds, kind) : NULL;
    size_t length = strlen(kind);
    return found && (found == kinds || found[-1] == ',') && (!found[length] || found[length] == ',');
}

/* Count and log a call, and decide what happens to it. */
static enum outcome met(const char *kind, const char *call, const char *path, const char *other) {
    int worker = getpid() != first;
    if (getpid() != counted) {
        counted = getpid();
        seen = 0;
    }
    int struck = 0;
    if (worker == on_worker && is_struck_kind(kind)) {
        seen++;
        struck = at > 0 && (seen == at || (sticky && seen > at));
    }
    if (trace >= 0) {
        char line[3 * PATH_MAX];
        int length = snprintf(line, sizeof line, "%s %d %s%s %s %s%s%s\n", worker ? "worker" : "main",
                              counted, kind, struck ? "!" : "", call, path, other ? " -> " : "",
                              other ? other : "");
        syscall(SYS_write, trace, line, length);
    }
    if (!struck) return PASS;
    if (!strcmp(action, "signal")) {
        kill(getpid(), number);
        return PASS;
    }
    if (!strcmp(action, "delay")) {
        usleep(1000 * number);
        return PASS;
    }
    if (!strcmp(action, "short")) return SHORT;
    errno = number;
    return FAIL;
}

static enum outcome met_path(const char *kind, const char *call, int fd, const char *name) {
    char room[PATH_MAX];
    if (descriptor >= 0) return PASS;
    const char *path = path_at(fd, name, room);
    return is_inside(path) ? met(kind, call, path, NULL) : PASS;
}

static enum outcome met_two(const char *kind, const char *call, int fd, const char *name,
                            int other, const char *new) {
    char room[PATH_MAX], more[PATH_MAX];
    if (descriptor >= 0) return PASS;
    const char *path = path_at(fd, name, room), *target = path_at(other, new, more);
    return is_inside(target) ? met(kind, call, path, target) : PASS;
}

static enum outcome met_descriptor(const char *kind, const char *call, int fd) {
    char room[PATH_MAX];
    if (descriptor >= 0) return fd == descriptor ? met(kind, call, "descriptor", NULL) : PASS;
    const char *path = path_of(fd, room);
    return is_inside(path) ? met(kind, call, path, NULL) : PASS;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define HALF(outcome, count) ((outcome) == SHORT ? ((count) + 1) / 2 : (count))

#define OPEN(name)                                                                 \
    int name(const char *path, int flags, ...) {                                   \
        va_list more;                                                              \
        va_start(more, flags);                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;  \
        va_end(more);                                                              \
        if (met_path("open", #name, AT_FDCWD, path) == FAIL) return -1;            \
        return REAL(name)(path, flags, mode);                                      \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                               \
    int name(int fd, const char *path, int flags, ...) {                           \
        va_list more;                                                              \
        va_start(more, flags);                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;  \
        va_end(more);                                                              \
        if (met_path("open", #name, fd, path) == FAIL) return -1;                  \
        return REAL(name)(fd, path, flags, mode);                                  \
    }
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
    if (met_path("open", "opendir", AT_FDCWD, path) == FAIL) return NULL;
    return REAL(opendir)(path);
}

#define MOVED(name, kind, fd, count, ...)                                          \
    enum outcome outcome = met_descriptor(kind, #name, fd);                        \
    if (outcome == FAIL) return -1;                                                \
    count = HALF(outcome, count);                                                  \
    return REAL(name)(fd, data, count, ##__VA_ARGS__);

ssize_t read(int fd, void *data, size_t count) { MOVED(read, "read", fd, count) }
ssize_t pread(int fd, void *data, size_t count, off_t place) { MOVED(pread, "read", fd, count, place) }
ssize_t pread64(int fd, void *data, size_t count, off64_t place) { MOVED(pread64, "read", fd, count, place) }
ssize_t write(int fd, const void *data, size_t count) { MOVED(write, "write", fd, count) }
ssize_t pwrite(int fd, const void *data, size_t count, off_t place) { MOVED(pwrite, "write", fd, count, place) }
ssize_t pwrite64(int fd, const void *data, size_t count, off64_t place) { MOVED(pwrite64, "write", fd, count, place) }

/* If a call falls short, half of the first of several buffers is transferred. */
#define PIECES(name, kind, fd, data, count, ...)                                   \
    enum outcome outcome = met_descriptor(kind, #name, fd);                        \
    if (outcome == FAIL) return -1;                                                \
    struct iovec half = {data->iov_base, HALF(outcome, data->iov_len)};            \
    if (outcome == SHORT) return REAL(name)(fd, &half, 1, ##__VA_ARGS__);          \
    return REAL(name)(fd, data, count, ##__VA_ARGS__);

ssize_t readv(int fd, const struct iovec *data, int count) { PIECES(readv, "read", fd, data, count) }
ssize_t preadv(int fd, const struct iovec *data, int count, off_t place) { PIECES(preadv, "read", fd, data, count, place) }
ssize_t preadv64(int fd, const struct iovec *data, int count, off64_t place) { PIECES(preadv64, "read", fd, data, count, place) }
ssize_t preadv2(int fd, const struct iovec *data, int count, off_t place, int flags) { PIECES(preadv2, "read", fd, data, count, place, flags) }
ssize_t preadv64v2(int fd, const struct iovec *data, int count, off64_t place, int flags) { PIECES(preadv64v2, "read", fd, data, count, place, flags) }
ssize_t writev(int fd, const struct iovec *data, int count) { PIECES(writev, "write", fd, data, count) }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t place) { PIECES(pwritev, "write", fd, data, count, place) }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t place) { PIECES(pwritev64, "write", fd, data, count, place) }

#define BY_DESCRIPTOR(kind, name, fd, ...)                                         \
    { return met_descriptor(kind, #name, fd) == FAIL ? -1 : REAL(name)(__VA_ARGS__); }
#define BY_PATH(kind, name, fd, path, ...)                                         \
    { return met_path(kind, #name, fd, path) == FAIL ? -1 : REAL(name)(__VA_ARGS__); }

int fsync(int fd) BY_DESCRIPTOR("fsync", fsync, fd, fd)
int fdatasync(int fd) BY_DESCRIPTOR("fsync", fdatasync, fd, fd)
int ftruncate(int fd, off_t size) BY_DESCRIPTOR("truncate", ftruncate, fd, fd, size)
int ftruncate64(int fd, off64_t size) BY_DESCRIPTOR("truncate", ftruncate64, fd, fd, size)
off_t lseek(int fd, off_t place, int from) BY_DESCRIPTOR("seek", lseek, fd, fd, place, from)
off64_t lseek64(int fd, off64_t place, int from) BY_DESCRIPTOR("seek", lseek64, fd, fd, place, from)
int flock(int fd, int how) BY_DESCRIPTOR("lock", flock, fd, fd, how)
int fchmod(int fd, mode_t mode) BY_DESCRIPTOR("chmod", fchmod, fd, fd, mode)
int chmod(const char *path, mode_t mode) BY_PATH("chmod", chmod, AT_FDCWD, path, path, mode)
int unlink(const char *path) BY_PATH("unlink", unlink, AT_FDCWD, path, path)
int unlinkat(int fd, const char *path, int flags) BY_PATH("unlink", unlinkat, fd, path, fd, path, flags)
int rmdir(const char *path) BY_PATH("unlink", rmdir, AT_FDCWD, path, path)
int mkdir(const char *path, mode_t mode) BY_PATH("mkdir", mkdir, AT_FDCWD, path, path, mode)
int mkdirat(int fd, const char *path, mode_t mode) BY_PATH("mkdir", mkdirat, fd, path, fd, path, mode)
int stat(const char *path, struct stat *found) BY_PATH("stat", stat, AT_FDCWD, path, path, found)
int stat64(const char *path, struct stat64 *found) BY_PATH("stat", stat64, AT_FDCWD, path, path, found)
int lstat(const char *path, struct stat *found) BY_PATH("stat", lstat, AT_FDCWD, path, path, found)
int lstat64(const char *path, struct stat64 *found) BY_PATH("stat", lstat64, AT_FDCWD, path, path, found)
int fstat(int fd, struct stat *found) BY_DESCRIPTOR("stat", fstat, fd, fd, found)
int fstat64(int fd, struct stat64 *found) BY_DESCRIPTOR("stat", fstat64, fd, fd, found)
int fstatat(int fd, const char *path, struct stat *found, int flags) BY_PATH("stat", fstatat, fd, path, fd, path, found, flags)
int fstatat64(int fd, const char *path, struct stat64 *found, int flags) BY_PATH("stat", fstatat64, fd, path, fd, path, found, flags)

/* A close that fails has still closed the descriptor, as on Linux. */
int close(int fd) {
    enum outcome outcome = met_descriptor("close", "close", fd);
    int wanted = errno;
    int closed = REAL(close)(fd);
    if (outcome != FAIL) return closed;
    errno = wanted;
    return -1;
}

int link(const char *path, const char *new) {
    if (met_two("link", "link", AT_FDCWD, path, AT_FDCWD, new) == FAIL) return -1;
    return REAL(link)(path, new);
}

int linkat(int fd, const char *path, int other, const char *new, int flags) {
    if (met_two("link", "linkat", fd, path, other, new) == FAIL) return -1;
    return REAL(linkat)(fd, path, other, new, flags);
}

int rename(const char *path, const char *new) {
    if (met_two("rename", "rename", AT_FDCWD, path, AT_FDCWD, new) == FAIL) return -1;
    return REAL(rename)(path, new);
}

int renameat(int fd, const char *path, int other, const char *new) {
    if (met_two("rename", "renameat", fd, path, other, new) == FAIL) return -1;
    return REAL(renameat)(fd, path, other, new);
}

int renameat2(int fd, const char *path, int other, const char *new, unsigned int flags) {
    if (met_two("rename", "renameat2", fd, path, other, new) == FAIL) return -1;
    return REAL(renameat2)(fd, path, other, new, flags);
}
