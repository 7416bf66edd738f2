/* replace.c: shows a program other texts of some of its sources, so that a change can be tried
 * while the user's files stay as they are. Preloaded by `dtypecheck cure` alone; what is traced
 * without it never meets it.
 *
 * DTYPECHECK_REPLACE names a file of pairs, each "original NUL replacement NUL", absolute. Who
 * opens an original for reading gets the replacement; who writes it, or asks for its size or date,
 * gets the original. Python takes compiled code instead of the source where the dates fit, and
 * would keep that of the replacement for later runs: such files of a source that is replaced are
 * neither found nor made.
 *
 * Plain C without libstdc++, as stage 1 (tracer/preload/preload.c says why). On trouble the
 * original is opened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_PAIRS 16

struct pair {
  char original[PATH_MAX], replacement[PATH_MAX];
  const char* name; /* of the original, without folders */
  size_t stem;      /* bytes of the name before ".py" */
};
static struct pair pairs[MAX_PAIRS];
static size_t count;

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int add_pair(const char* original, const char* replacement) {
  struct pair* pair = &pairs[count];
  if (strlen(original) >= PATH_MAX || strlen(replacement) >= PATH_MAX ||
      access(original, F_OK) != 0)
    return 0;
  strcpy(pair->original, original);
  strcpy(pair->replacement, replacement);
  pair->name = base_name(pair->original);
  const char* dot = strrchr(pair->name, '.');
  pair->stem = dot ? (size_t)(dot - pair->name) : strlen(pair->name);
  ++count;
  return 1;
}

__attribute__((constructor)) static void read_pairs(void) {
  const char* list = getenv("DTYPECHECK_REPLACE");
  const int fd = list ? open(list, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  static char text[MAX_PAIRS * 2 * PATH_MAX];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  for (char* at = text; size > 0 && at < text + size && count < MAX_PAIRS;) {
    const char* original = at;
    const char* replacement = original + strlen(original) + 1;
    if (replacement >= text + size || !add_pair(original, replacement)) return;
    at = (char*)replacement + strlen(replacement) + 1;
  }
}

/* What to open instead; NULL with errno set where nothing is to be found. */
static const char* instead_of(int folder, const char* path, int flags) {
  if (count == 0 || !path) return path;
  const int saved_errno = errno;
  const char* name = base_name(path);
  const int reads = (flags & O_ACCMODE) == O_RDONLY;
  for (size_t i = 0; i < count; ++i) {
    const struct pair* pair = &pairs[i];
    if (strncmp(name, pair->name, pair->stem) == 0 && name[pair->stem] == '.' &&
        strstr(name, ".pyc")) {
      errno = reads ? ENOENT : EACCES;
      return NULL;
    }
    /* Both are asked anew: what is mounted over the folder gives its files other numbers. */
    struct stat found, own;
    if (!reads || strcmp(name, pair->name) != 0 || fstatat(folder, path, &found, 0) != 0) continue;
    if (stat(pair->original, &own) != 0 || found.st_dev != own.st_dev || found.st_ino != own.st_ino)
      continue;
    errno = saved_errno;
    return pair->replacement;
  }
  errno = saved_errno;
  return path;
}

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

#define MODE_OF(flags)                                             \
  mode_t mode = 0;                                                 \
  if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                                  \
    va_start(rest, flags);                                         \
    mode = va_arg(rest, mode_t);                                   \
    va_end(rest);                                                  \
  }

#define DEFINE_OPEN(name)                             \
  EXPORT int name(const char* path, int flags, ...) { \
    MODE_OF(flags)                                    \
    REAL(name);                                       \
    path = instead_of(AT_FDCWD, path, flags);         \
    return path ? real(path, flags, mode) : -1;       \
  }
#define DEFINE_OPENAT(name)                                       \
  EXPORT int name(int folder, const char* path, int flags, ...) { \
    MODE_OF(flags)                                                \
    REAL(name);                                                   \
    path = instead_of(folder, path, flags);                       \
    return path ? real(folder, path, flags, mode) : -1;           \
  }
#define DEFINE_FOPEN(name)                                          \
  EXPORT FILE* name(const char* path, const char* mode) {           \
    REAL(name);                                                     \
    const int reads = mode && mode[0] == 'r' && !strchr(mode, '+'); \
    path = instead_of(AT_FDCWD, path, reads ? O_RDONLY : O_RDWR);   \
    return path ? real(path, mode) : NULL;                          \
  }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
