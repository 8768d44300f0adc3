/* A power cut, for one process (LD_PRELOAD). Every write under POWER_DIR goes to the file at once,
   and is remembered with what it replaced until the file is synced. At the POWER_AT-th write or sync
   the power fails: every file is put back to what was synced last, and of what was written since
   nothing, all, or a part comes back, by POWER_SEED:

     POWER_MODE=none   nothing that was not synced is there
     POWER_MODE=some   each write is there or not, whole, torn at a sector, or as zeros
     POWER_MODE=all    everything is there: no more than a kill

   Names are treated alike: files made or renamed, and not yet synced by their directory, may be gone
   or have their old name. What was done is told in POWER_REPORT. After that the process kills itself.

   POWER_BOOT names a file that is read instead of the kernel's boot id: after a power cut it is
   another one.

   Not modelled: writes through mmap (SQLite has only its -shm there, which a power cut empties),
   names that were removed and come back, and disks that lie about a sync. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECTOR 512
#define PATHS 4096

struct change {
  struct change *next; /* the one before it */
  dev_t dev;
  ino_t ino;
  int fd;
  int truncates;
  off_t at;
  size_t length, had; /* of what is written, and of what was there */
  off_t size;         /* of the file before */
  char *before, *after;
};

struct name {
  struct name *next;
  char *dir, *from, *to; /* from: null for a file that was made */
};

static struct change *changes;
static struct name *names;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long steps, syncs;
static unsigned long long state;

static const char *dir_of_power(void) { return getenv("POWER_DIR"); }

static unsigned chance(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % below;
}

/* The effects' log and the trace are the world's; -shm is memory. */
static int is_ours(const char *path) {
  const char *dir = dir_of_power();
  if (dir == NULL || strncmp(path, dir, strlen(dir)) != 0) return 0;
  return strstr(path, "-shm") == NULL && strstr(path, ".log") == NULL;
}

static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, PATHS - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return 1;
}

static int is_file(int fd, struct stat *st) {
  char path[PATHS];
  return path_of(fd, path) && is_ours(path) && fstat(fd, st) == 0 && S_ISREG(st->st_mode);
}

/* Its own descriptor: the process may have opened the file for appending, or close it. */
static int again(int fd) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return (int)syscall(SYS_openat, AT_FDCWD, link, O_RDWR | O_CLOEXEC, 0);
}

static void put(int fd, const char *bytes, size_t length, off_t at) {
  while (length > 0) {
    ssize_t n = syscall(SYS_pwrite64, fd, bytes, length, at);
    if (n <= 0) return;
    bytes += n;
    length -= (size_t)n;
    at += n;
  }
}

/* What a disk keeps of one write: sectors from its beginning, or all of it, or room without bytes. */
static const char *keep(struct change *c, const char *mode) {
  int how = strcmp(mode, "all") == 0 ? 0 : (int)chance(10);
  if (c->truncates) {
    if (how >= 5) return "lost";
    syscall(SYS_ftruncate, c->fd, c->at);
    return "kept";
  }
  if (how < 4) {
    put(c->fd, c->after, c->length, c->at);
    return "kept";
  }
  if (how < 6 && c->length > SECTOR) {
    size_t sectors = 1 + chance((unsigned)(c->length / SECTOR));
    size_t part = sectors * SECTOR < c->length ? sectors * SECTOR : c->length;
    put(c->fd, c->after, part, c->at);
    return "torn";
  }
  if (how == 6 && c->at + (off_t)c->length > c->size) {
    struct stat st;
    if (fstat(c->fd, &st) == 0 && st.st_size < c->at + (off_t)c->length)
      syscall(SYS_ftruncate, c->fd, c->at + (off_t)c->length);
    return "zeroed";
  }
  return "lost";
}

static void tell(const char *text) {
  const char *path = getenv("POWER_REPORT");
  if (path == NULL) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  syscall(SYS_write, fd, text, strlen(text));
  syscall(SYS_fsync, fd);
}

/* What lies in a directory that was never there is not there either. */
static void forget_file(const char *path) {
  char away[PATHS];
  if (syscall(SYS_unlinkat, AT_FDCWD, path, 0) == 0 || errno != EISDIR) return;
  snprintf(away, sizeof away, "%s.lost", path);
  syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, away, 0);
}

static long unname(const char *mode) {
  long gone = 0;
  for (struct name *n = names; n; n = n->next) {
    int stays = strcmp(mode, "all") == 0 || (strcmp(mode, "some") == 0 && chance(2));
    if (stays) continue;
    if (n->from) syscall(SYS_renameat2, AT_FDCWD, n->to, AT_FDCWD, n->from, 0);
    else forget_file(n->to);
    gone++;
  }
  return gone;
}

static void fail(void) {
  const char *mode = getenv("POWER_MODE") ? getenv("POWER_MODE") : "none";
  const char *seed = getenv("POWER_SEED");
  state = 88172645463325252ull ^ (seed ? strtoull(seed, NULL, 10) * 2654435761ull : 0);
  for (int i = 0; i < 8; i++) chance(2);
  long pending = 0, kept = 0, torn = 0, zeroed = 0;
  struct change *first = NULL;
  for (struct change *c = changes, *before; c; c = before) {
    before = c->next;
    pending++;
    if (c->had > 0) put(c->fd, c->before, c->had, c->at);
    syscall(SYS_ftruncate, c->fd, c->size);
    c->next = first;
    first = c;
  }
  for (struct change *c = first; c && strcmp(mode, "none") != 0; c = c->next) {
    const char *what = keep(c, mode);
    kept += *what == 'k';
    torn += *what == 't';
    zeroed += *what == 'z';
  }
  long gone = unname(mode);
  char text[256];
  snprintf(text, sizeof text,
           "{\"step\":%ld,\"syncs\":%ld,\"pending\":%ld,\"kept\":%ld,\"torn\":%ld,\"zeroed\":%ld,"
           "\"names\":%ld}\n",
           steps, syncs, pending, kept, torn, zeroed, gone);
  tell(text);
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static void step(void) {
  const char *at = getenv("POWER_AT");
  steps++;
  if (at != NULL && steps == atol(at)) fail();
}

static void note(int fd, struct stat *st, const void *bytes, size_t length, off_t at, int truncates) {
  struct change *c = calloc(1, sizeof *c);
  c->dev = st->st_dev;
  c->ino = st->st_ino;
  c->fd = again(fd);
  c->truncates = truncates;
  c->at = at;
  c->size = st->st_size;
  c->length = length;
  size_t lost = truncates ? (st->st_size > at ? (size_t)(st->st_size - at) : 0) : length;
  c->before = malloc(lost ? lost : 1);
  ssize_t had = lost ? syscall(SYS_pread64, c->fd, c->before, lost, at) : 0;
  c->had = had > 0 ? (size_t)had : 0;
  if (!truncates) {
    c->after = malloc(length ? length : 1);
    memcpy(c->after, bytes, length);
  }
  c->next = changes;
  changes = c;
}

static void forget(struct stat *st) {
  for (struct change **p = &changes; *p;) {
    struct change *c = *p;
    if (c->ino != st->st_ino || c->dev != st->st_dev) {
      p = &c->next;
      continue;
    }
    *p = c->next;
    close(c->fd);
    free(c->before);
    free(c->after);
    free(c);
  }
}

static void forget_names(const char *dir) {
  for (struct name **p = &names; *p;) {
    struct name *n = *p;
    if (strcmp(n->dir, dir) != 0) {
      p = &n->next;
      continue;
    }
    *p = n->next;
  }
}

static void note_name(const char *from, const char *to) {
  char copy[PATHS];
  struct name *n = calloc(1, sizeof *n);
  snprintf(copy, sizeof copy, "%s", to);
  n->dir = strdup(dirname(copy));
  n->from = from ? strdup(from) : NULL;
  n->to = strdup(to);
  n->next = names;
  names = n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) {
  struct stat st;
  if (!is_file(fd, &st)) return syscall(SYS_pwrite64, fd, bytes, length, at);
  pthread_mutex_lock(&lock);
  step();
  note(fd, &st, bytes, length, at, 0);
  ssize_t n = syscall(SYS_pwrite64, fd, bytes, length, at);
  pthread_mutex_unlock(&lock);
  return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  return pwrite64(fd, bytes, length, at);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct stat st;
  if (!is_file(fd, &st)) return syscall(SYS_write, fd, bytes, length);
  pthread_mutex_lock(&lock);
  step();
  off_t at = fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
  note(fd, &st, bytes, length, at, 0);
  ssize_t n = syscall(SYS_write, fd, bytes, length);
  pthread_mutex_unlock(&lock);
  return n;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  struct stat st;
  if (!is_file(fd, &st)) return syscall(SYS_writev, fd, parts, count);
  ssize_t all = 0;
  for (int i = 0; i < count; i++) {
    ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return all > 0 ? all : n;
    all += n;
  }
  return all;
}

int ftruncate64(int fd, off_t size) {
  struct stat st;
  if (!is_file(fd, &st)) return (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&lock);
  step();
  note(fd, &st, NULL, 0, size, 1);
  int result = (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_unlock(&lock);
  return result;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int synced(int fd, long call) {
  struct stat st;
  char path[PATHS];
  const char *dir = dir_of_power();
  int known = dir != NULL && path_of(fd, path) && fstat(fd, &st) == 0;
  if (!known || strncmp(path, dir, strlen(dir)) != 0) return (int)syscall(call, fd);
  pthread_mutex_lock(&lock);
  step();
  int result = (int)syscall(call, fd);
  syncs++;
  if (result == 0) {
    if (S_ISDIR(st.st_mode)) forget_names(path);
    else forget(&st);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static int opened(int at, const char *path, int flags, mode_t mode) {
  const char *boot = getenv("POWER_BOOT");
  if (boot != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = boot;
  if (!(flags & O_CREAT) || !is_ours(path)) return (int)syscall(SYS_openat, at, path, flags, mode);
  pthread_mutex_lock(&lock);
  int was = faccessat(at, path, F_OK, 0) == 0;
  int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  if (fd >= 0 && !was) note_name(NULL, path);
  pthread_mutex_unlock(&lock);
  return fd;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE(flags)
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  MODE(flags)
  return opened(at, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0 && is_ours(path)) note_name(NULL, path);
  pthread_mutex_unlock(&lock);
  return result;
}

int rename(const char *from, const char *to) {
  if (!is_ours(to)) return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  pthread_mutex_lock(&lock);
  step();
  /* Over a file that was there, a journalled file system keeps the one or the other: not undone. */
  int was = faccessat(AT_FDCWD, to, F_OK, 0) == 0;
  int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result == 0 && !was) note_name(from, to);
  pthread_mutex_unlock(&lock);
  return result;
}

/* Without a power cut: how many places there were for one. */
__attribute__((destructor)) static void count(void) {
  char text[64];
  if (dir_of_power() == NULL || getenv("POWER_AT") != NULL) return;
  snprintf(text, sizeof text, "{\"step\":%ld}\n", steps);
  tell(text);
}
