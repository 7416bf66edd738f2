/* throwaway.c: nothing that the program writes stays, and nothing of the user's is written over.
 *
 * DTYPECHECK_THROWAWAY names a folder of this run's own. A file that is opened for writing is one
 * below it under its whole path, with what stood in the original where that is kept; from then on
 * the program finds it there. What it removes or renames away leaves a mark (kGone) and is found no
 * more. Devices, pipes, sockets, what lies below /dev, /proc and /sys, and what DTYPECHECK_KEEP
 * names, a path a line, are left alone.
 *
 * A folder that is listed shows the original's files, or those of the throwaway one where the
 * original is not there. What glibc opens for itself (mkstemp(), dlopen(), a child's executable) is
 * not seen. Own calls are system calls, so that they do not come back here. Plain C, as stage 1. On
 * trouble the call fails with its errno: the original is never written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tracer/pretended/pretended.h"

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

static const char kGone[] = "dtypecheck:gone";
/* Of a folder in the throwaway one whose original was removed before: nothing below that shows. */
enum { kNew = S_ISVTX };
enum { kMostCopiedBytes = 1 << 30 };
static char root[PATH_MAX];
static size_t root_length;
static char kept[4 * PATH_MAX];

__attribute__((constructor)) static void learn_root(void) {
  const char* folder = getenv("DTYPECHECK_THROWAWAY");
  if (!folder || strlen(folder) >= sizeof root - 1) return;
  const char* more = getenv("DTYPECHECK_KEEP");
  snprintf(kept, sizeof kept, "/dev\n/proc\n/sys\n%s", more ? more : "");
  strcpy(root, folder);
  root_length = strlen(root);
}

static int sys_stat(const char* path, struct stat* found, int flags) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, flags);
}
static int sys_open(const char* path, int flags, mode_t mode) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
static int sys_unlink(const char* path, int flags) {
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, flags);
}
static int sys_mkdir(const char* path, mode_t mode) {
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
static int sys_symlink(const char* target, const char* path) {
  return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}
static int is_there(const char* path) {
  struct stat found;
  return sys_stat(path, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

static int is_below(const char* path, const char* folder, size_t length) {
  return length > 0 && strncmp(path, folder, length) == 0 &&
         (path[length] == '/' || path[length] == '\0');
}
static int is_kept(const char* path) {
  for (const char* at = kept; *at;) {
    const size_t length = strcspn(at, "\n");
    if (is_below(path, at, length)) return 1;
    at += length + (at[length] == '\n');
  }
  return 0;
}

/* Folds "//", "." and ".." by their text alone, in place. */
static void normalize(char* path) {
  char* out = path;
  for (const char* at = path; *at;) {
    while (*at == '/') ++at;
    const size_t length = strcspn(at, "/");
    if (length == 0) break;
    if (length == 2 && at[0] == '.' && at[1] == '.') {
      while (out > path && *--out != '/') {
      }
    } else if (!(length == 1 && at[0] == '.')) {
      *out++ = '/';
      memmove(out, at, length);
      out += length;
    }
    at += length;
  }
  if (out == path) *out++ = '/';
  *out = '\0';
}

static int folder_of(int folder, char* into, size_t size) {
  char link[64];
  if (folder == AT_FDCWD) return syscall(SYS_getcwd, into, size) > 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, into, size - 1);
  if (length <= 0 || into[0] != '/') return 0;
  into[length] = '\0';
  return 1;
}

/* The absolute path, links unresolved; 0 where it cannot be told or is not to be changed. What is
 * in the throwaway folder, below a working folder there, is given back to what it stands for. */
static int absolute(int folder, const char* path, char* into) {
  if (!root_length || !path || !*path) return 0;
  size_t length = 0;
  if (path[0] != '/') {
    if (!folder_of(folder, into, PATH_MAX / 2)) return 0;
    length = strlen(into);
  }
  if (length + 1 + strlen(path) >= PATH_MAX) return 0;
  into[length] = '/';
  strcpy(into + length + 1, path);
  normalize(into);
  if (is_below(into, root, root_length)) {
    memmove(into, into + root_length, strlen(into + root_length) + 1);
    if (!*into) return 0;
  }
  return !is_kept(into) && root_length + strlen(into) + 1 < PATH_MAX;
}

enum state { kUntouched, kAway, kRemoved };

static int is_new_folder(const char* away) {
  struct stat found;
  return sys_stat(away, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode) &&
         (found.st_mode & kNew);
}

static enum state state_of(const char* away) {
  struct stat found;
  if (sys_stat(away, &found, AT_SYMLINK_NOFOLLOW) != 0) return kUntouched;
  if (!S_ISLNK(found.st_mode)) return kAway;
  char target[sizeof kGone];
  const ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, away, target, sizeof target);
  return size == sizeof kGone - 1 && memcmp(target, kGone, sizeof kGone - 1) == 0 ? kRemoved
                                                                                  : kAway;
}

/* From the top down, which ends at the first folder that nothing was changed in. `away` gets where
 * the path lies in the throwaway folder. */
static enum state state_below(const char* path, char* away) {
  memcpy(away, root, root_length);
  strcpy(away + root_length, path);
  int is_new = 0;
  for (char* slash = away + root_length; (slash = strchr(slash + 1, '/'));) {
    *slash = '\0';
    const enum state state = state_of(away);
    if (state == kAway) is_new = is_new || is_new_folder(away);
    *slash = '/';
    if (state != kAway) return is_new ? kRemoved : state;
  }
  const enum state own = state_of(away);
  return own == kUntouched && is_new ? kRemoved : own;
}

static void make_folders_above(char* away) {
  for (char* slash = away + root_length; (slash = strchr(slash + 1, '/'));) {
    *slash = '\0';
    if (sys_mkdir(away, 0700) != 0 && state_of(away) == kRemoved) {
      sys_unlink(away, 0);
      sys_mkdir(away, 0700);
    }
    *slash = '/';
  }
}

static int leave_mark(char* away) {
  make_folders_above(away);
  return sys_symlink(kGone, away);
}

/* The contents of a regular file. */
static int copy_file(const char* from, const char* to, const struct stat* what) {
  if (what->st_size > kMostCopiedBytes) return errno = EROFS, -1;
  const int in = sys_open(from, O_RDONLY | O_CLOEXEC, 0);
  if (in < 0) return -1;
  const int out = sys_open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, what->st_mode | S_IWUSR);
  ssize_t copied = out < 0 ? -1 : 1;
  while (copied > 0) copied = sendfile(out, in, NULL, 1 << 24);
  const int error = errno;
  close(in);
  if (out >= 0) close(out);
  if (copied < 0) errno = error;
  return copied < 0 ? -1 : 0;
}

/* What to look at instead: `path` itself, or `room`; NULL with ENOENT for what was removed. */
static const char* to_read(int folder, const char* path, char* room) {
  char whole[PATH_MAX];
  const int error = errno;
  const char* instead = path;
  if (absolute(folder, path, whole)) {
    const enum state state = state_below(whole, room);
    if (state == kRemoved) return errno = ENOENT, NULL;
    if (state == kAway) {
      struct stat original, away;
      const int both_folders = sys_stat(room, &away, 0) == 0 && S_ISDIR(away.st_mode) &&
                               sys_stat(whole, &original, 0) == 0 && S_ISDIR(original.st_mode);
      if (both_folders && !is_new_folder(room))
        strcpy(room, whole); /* the folder is the user's still */
      instead = room;
    }
  }
  errno = error;
  return instead;
}

/* What to write instead; NULL with errno set where it cannot be written. */
static const char* to_write(int folder, const char* path, int flags, char* room) {
  char whole[PATH_MAX];
  if (!absolute(folder, path, whole)) return path;
  const int error = errno;
  const enum state state = state_below(whole, room);
  struct stat original;
  const int was_there = state == kUntouched && sys_stat(whole, &original, 0) == 0;
  if (was_there && !S_ISREG(original.st_mode)) return errno = error, path;
  if (was_there && (flags & O_CREAT) && (flags & O_EXCL)) return errno = EEXIST, NULL;
  if (!was_there && state != kAway && !(flags & O_CREAT)) return errno = ENOENT, NULL;
  if (state != kAway) {
    char above[PATH_MAX], unused[PATH_MAX];
    strcpy(above, whole);
    *strrchr(above, '/') = '\0';
    const char* there = *above ? to_read(AT_FDCWD, above, unused) : "/";
    if (!there || !is_there(there)) return errno = ENOENT, NULL;
    make_folders_above(room);
    if (state == kRemoved) sys_unlink(room, 0);
  }
  if (was_there && !(flags & O_TRUNC) && copy_file(whole, room, &original) != 0) return NULL;
  errno = error;
  return room;
}

static int writes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}
static int open_instead(int folder, const char* path, int flags, mode_t mode) {
  char room[PATH_MAX];
  const int makes_nameless = (flags & O_TMPFILE) == O_TMPFILE;
  const char* instead = makes_nameless  ? root_length ? root : path
                        : writes(flags) ? to_write(folder, path, flags, room)
                                        : to_read(folder, path, room);
  return instead ? (int)syscall(SYS_openat, folder, instead, flags, mode) : -1;
}

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
    return open_instead(AT_FDCWD, path, flags, mode); \
  }
#define DEFINE_OPENAT(name)                                       \
  EXPORT int name(int folder, const char* path, int flags, ...) { \
    MODE_OF(flags)                                                \
    return open_instead(folder, path, flags, mode);               \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
EXPORT int creat(const char* path, mode_t mode) {
  return open_instead(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
EXPORT int creat64(const char* path, mode_t mode) { return creat(path, mode); }

static const char* for_stream(const char* path, const char* mode, char* room) {
  if (mode[0] == 'r' && !strchr(mode, '+')) return to_read(AT_FDCWD, path, room);
  const int flags = mode[0] == 'r'   ? O_RDWR
                    : mode[0] == 'w' ? O_RDWR | O_CREAT | O_TRUNC
                                     : O_RDWR | O_CREAT;
  return to_write(AT_FDCWD, path, flags | (strchr(mode, 'x') ? O_EXCL : 0), room);
}
#define DEFINE_FOPEN(name)                                \
  EXPORT FILE* name(const char* path, const char* mode) { \
    REAL(name);                                           \
    char room[PATH_MAX];                                  \
    const char* instead = for_stream(path, mode, room);   \
    return instead ? real(instead, mode) : NULL;          \
  }
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
EXPORT DIR* opendir(const char* path) {
  REAL(opendir);
  char room[PATH_MAX];
  const char* instead = to_read(AT_FDCWD, path, room);
  return instead ? real(instead) : NULL;
}

/* Questions about a path. */
static int stat_instead(int folder, const char* path, struct stat* found, int flags) {
  char room[PATH_MAX];
  const char* instead = to_read(folder, path, room);
  return instead ? (int)syscall(SYS_newfstatat, folder, instead, found, flags) : -1;
}
EXPORT int fstatat(int folder, const char* path, struct stat* found, int flags) {
  return stat_instead(folder, path, found, flags);
}
EXPORT int fstatat64(int folder, const char* path, struct stat64* found, int flags) {
  return stat_instead(folder, path, (struct stat*)found, flags);
}
EXPORT int stat(const char* path, struct stat* found) {
  return stat_instead(AT_FDCWD, path, found, 0);
}
EXPORT int stat64(const char* path, struct stat64* found) {
  return stat_instead(AT_FDCWD, path, (struct stat*)found, 0);
}
EXPORT int lstat(const char* path, struct stat* found) {
  return stat_instead(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
EXPORT int lstat64(const char* path, struct stat64* found) {
  return stat_instead(AT_FDCWD, path, (struct stat*)found, AT_SYMLINK_NOFOLLOW);
}
/* What a program that was linked to a glibc before 2.33 calls. */
EXPORT int __xstat(int version UNUSED, const char* path, struct stat* found) {
  return stat_instead(AT_FDCWD, path, found, 0);
}
EXPORT int __xstat64(int version UNUSED, const char* path, struct stat64* found) {
  return stat_instead(AT_FDCWD, path, (struct stat*)found, 0);
}
EXPORT int __lxstat(int version UNUSED, const char* path, struct stat* found) {
  return stat_instead(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
EXPORT int __lxstat64(int version UNUSED, const char* path, struct stat64* found) {
  return stat_instead(AT_FDCWD, path, (struct stat*)found, AT_SYMLINK_NOFOLLOW);
}
EXPORT int __fxstatat(int version UNUSED, int folder, const char* path, struct stat* found,
                      int flags) {
  return stat_instead(folder, path, found, flags);
}
EXPORT int __fxstatat64(int version UNUSED, int folder, const char* path, struct stat64* found,
                        int flags) {
  return stat_instead(folder, path, (struct stat*)found, flags);
}
EXPORT int statx(int folder, const char* restrict path, int flags, unsigned mask,
                 struct statx* restrict found) {
  char room[PATH_MAX];
  const char* instead = to_read(folder, path, room);
  return instead ? (int)syscall(SYS_statx, folder, instead, flags, mask, found) : -1;
}
EXPORT int faccessat(int folder, const char* path, int mode, int flags) {
  REAL(faccessat);
  char room[PATH_MAX];
  const char* instead = to_read(folder, path, room);
  return instead ? real(folder, instead, mode, flags) : -1;
}
EXPORT int access(const char* path, int mode) { return faccessat(AT_FDCWD, path, mode, 0); }
EXPORT ssize_t readlinkat(int folder, const char* path, char* into, size_t size) {
  char room[PATH_MAX];
  const char* instead = to_read(folder, path, room);
  return instead ? syscall(SYS_readlinkat, folder, instead, into, size) : -1;
}
EXPORT ssize_t readlink(const char* path, char* into, size_t size) {
  return readlinkat(AT_FDCWD, path, into, size);
}
#define DEFINE_LOOK(result, name, arguments, call)          \
  EXPORT result name arguments {                            \
    REAL(name);                                             \
    char room[PATH_MAX];                                    \
    if (!(path = to_read(AT_FDCWD, path, room))) return -1; \
    return real call;                                       \
  }
DEFINE_LOOK(int, statfs, (const char* path, struct statfs* found), (path, found))
DEFINE_LOOK(int, statfs64, (const char* path, struct statfs64* found), (path, found))
DEFINE_LOOK(int, statvfs, (const char* path, struct statvfs* found), (path, found))
DEFINE_LOOK(int, statvfs64, (const char* path, struct statvfs64* found), (path, found))
DEFINE_LOOK(ssize_t, listxattr, (const char* path, char* names, size_t size), (path, names, size))
DEFINE_LOOK(ssize_t, llistxattr, (const char* path, char* names, size_t size), (path, names, size))
DEFINE_LOOK(ssize_t, getxattr, (const char* path, const char* name, void* value, size_t size),
            (path, name, value, size))
DEFINE_LOOK(ssize_t, lgetxattr, (const char* path, const char* name, void* value, size_t size),
            (path, name, value, size))
EXPORT int chdir(const char* path) {
  char room[PATH_MAX];
  const char* instead = to_read(AT_FDCWD, path, room);
  return instead ? (int)syscall(SYS_chdir, instead) : -1;
}

/* Changes. Of a folder's or a link's mode, owner and date nothing is kept. */
static int change(int folder, const char* path, char* room) {
  char whole[PATH_MAX];
  struct stat found;
  if (!absolute(folder, path, whole)) return 1;
  if (stat_instead(folder, path, &found, 0) != 0) return -1;
  if (!S_ISREG(found.st_mode)) return 0;
  return to_write(folder, path, O_RDWR, room) ? 1 : -1;
}
#define DEFINE_CHANGE(name, arguments, folder, call) \
  EXPORT int name arguments {                        \
    REAL(name);                                      \
    char room[PATH_MAX] = "";                        \
    const int may = change(folder, path, room);      \
    if (may <= 0) return may;                        \
    if (*room) path = room;                          \
    return real call;                                \
  }
DEFINE_CHANGE(truncate, (const char* path, off_t size), AT_FDCWD, (path, size))
DEFINE_CHANGE(truncate64, (const char* path, off64_t size), AT_FDCWD, (path, size))
DEFINE_CHANGE(chmod, (const char* path, mode_t mode), AT_FDCWD, (path, mode))
DEFINE_CHANGE(fchmodat, (int folder, const char* path, mode_t mode, int flags), folder,
              (folder, path, mode, flags))
DEFINE_CHANGE(setxattr,
              (const char* path, const char* name, const void* value, size_t size, int flags),
              AT_FDCWD, (path, name, value, size, flags))
DEFINE_CHANGE(chown, (const char* path, uid_t user, gid_t group), AT_FDCWD, (path, user, group))
DEFINE_CHANGE(utimensat, (int folder, const char* path, const struct timespec times[2], int flags),
              folder, (folder, path, times, flags))

EXPORT int mkdirat(int folder, const char* path, mode_t mode) {
  char whole[PATH_MAX], away[PATH_MAX];
  if (!absolute(folder, path, whole)) return (int)syscall(SYS_mkdirat, folder, path, mode);
  const enum state state = state_below(whole, away);
  if (state == kAway || (state == kUntouched && is_there(whole))) return errno = EEXIST, -1;
  char above[PATH_MAX], unused[PATH_MAX];
  strcpy(above, whole);
  *strrchr(above, '/') = '\0';
  const char* there = *above ? to_read(AT_FDCWD, above, unused) : "/";
  if (!there || !is_there(there)) return errno = ENOENT, -1;
  make_folders_above(away);
  const int was_removed = state_of(away) == kRemoved;
  if (was_removed) sys_unlink(away, 0);
  return sys_mkdir(away, S_IRWXU | (mode & 0777) | (was_removed ? kNew : 0));
}
EXPORT int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* 1: nothing but marks is in it, which are removed where `clears`; 0: there is more; -1: no folder.
 */
static int is_empty(const char* folder, int clears) {
  REAL(opendir);
  DIR* entries = real(folder);
  if (!entries) return -1;
  int empty = 1;
  for (struct dirent* entry; empty && (entry = readdir(entries));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    empty = state_of(path) == kRemoved;
    if (empty && clears) sys_unlink(path, 0);
  }
  closedir(entries);
  return empty;
}

static int remove_instead(int folder, const char* path, int flags) {
  char whole[PATH_MAX], away[PATH_MAX];
  if (!absolute(folder, path, whole)) return (int)syscall(SYS_unlinkat, folder, path, flags);
  const enum state state = state_below(whole, away);
  struct stat found;
  const int was_there = sys_stat(whole, &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (state == kRemoved || (state == kUntouched && !was_there)) return errno = ENOENT, -1;
  if (state == kAway) {
    if ((flags & AT_REMOVEDIR) && is_empty(away, 1) == 0) return errno = ENOTEMPTY, -1;
    if (sys_unlink(away, flags) != 0) return -1;
    return state_below(whole, away) == kUntouched && was_there ? leave_mark(away) : 0;
  }
  if (!(flags & AT_REMOVEDIR) && S_ISDIR(found.st_mode)) return errno = EISDIR, -1;
  if ((flags & AT_REMOVEDIR) && is_empty(whole, 0) == 0) return errno = ENOTEMPTY, -1;
  return leave_mark(away);
}
EXPORT int unlinkat(int folder, const char* path, int flags) {
  return remove_instead(folder, path, flags);
}
EXPORT int unlink(const char* path) { return remove_instead(AT_FDCWD, path, 0); }
EXPORT int rmdir(const char* path) { return remove_instead(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int remove(const char* path) {
  const int done = remove_instead(AT_FDCWD, path, 0);
  return done != 0 && errno == EISDIR ? remove_instead(AT_FDCWD, path, AT_REMOVEDIR) : done;
}

/* A folder of the user's is not moved: EXDEV makes callers copy it. */
static int rename_instead(int from_folder, const char* from, int to_folder, const char* to) {
  char whole[PATH_MAX], room[PATH_MAX], target[PATH_MAX];
  if (!absolute(from_folder, from, whole))
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
  struct stat found;
  const enum state state = state_below(whole, room);
  const int was_there = sys_stat(whole, &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (state == kRemoved || (state == kUntouched && !was_there)) return errno = ENOENT, -1;
  if (was_there && S_ISDIR(found.st_mode)) return errno = EXDEV, -1;
  if (state == kUntouched && !to_write(from_folder, from, O_RDWR, room)) return -1;
  const char* instead = to_write(to_folder, to, O_RDWR | O_CREAT | O_TRUNC, target);
  if (!instead) return -1;
  if (syscall(SYS_renameat2, from_folder, room, to_folder, instead, 0) != 0) return -1;
  return state_below(whole, room) == kUntouched && was_there ? leave_mark(room) : 0;
}
EXPORT int rename(const char* from, const char* to) {
  return rename_instead(AT_FDCWD, from, AT_FDCWD, to);
}
EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return rename_instead(from_folder, from, to_folder, to);
}
EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                     unsigned flags UNUSED) {
  return rename_instead(from_folder, from, to_folder, to);
}
EXPORT int symlinkat(const char* target, int folder, const char* path) {
  char room[PATH_MAX];
  const char* instead = to_write(folder, path, O_RDWR | O_CREAT | O_EXCL, room);
  return instead ? (int)syscall(SYS_symlinkat, target, folder, instead) : -1;
}
EXPORT int symlink(const char* target, const char* path) {
  return symlinkat(target, AT_FDCWD, path);
}
EXPORT int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  char source[PATH_MAX], room[PATH_MAX];
  const char* instead_from = to_write(from_folder, from, O_RDWR, source);
  const char* instead = to_write(to_folder, to, O_RDWR | O_CREAT | O_EXCL, room);
  if (!instead_from || !instead) return -1;
  return (int)syscall(SYS_linkat, from_folder, instead_from, to_folder, instead, flags);
}
EXPORT int link(const char* from, const char* to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORT int mkfifo(const char* path, mode_t mode) {
  REAL(mkfifo);
  char room[PATH_MAX];
  const char* instead = to_write(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, room);
  return instead ? real(instead, mode) : -1;
}

/* A socket's file, where its folder is a throwaway one. */
static const struct sockaddr* socket_instead(const struct sockaddr* address, socklen_t* length,
                                             struct sockaddr_un* room) {
  char whole[PATH_MAX], away[PATH_MAX];
  const struct sockaddr_un* unix_address = (const struct sockaddr_un*)address;
  if (!address || address->sa_family != AF_UNIX || *length <= sizeof address->sa_family ||
      !unix_address->sun_path[0] || !absolute(AT_FDCWD, unix_address->sun_path, whole))
    return address;
  state_below(whole, away);
  char* slash = strrchr(away, '/');
  *slash = '\0';
  const int is_away = is_there(away) && strlen(away) > root_length;
  struct stat found;
  *strrchr(whole, '/') = '\0';
  const int is_users = sys_stat(*whole ? whole : "/", &found, 0) == 0;
  *slash = '/';
  if (!is_away || is_users || strlen(away) >= sizeof room->sun_path) return address;
  room->sun_family = AF_UNIX;
  strcpy(room->sun_path, away);
  *length = (socklen_t)sizeof *room;
  return (const struct sockaddr*)room;
}
EXPORT int bind(int socket, const struct sockaddr* address, socklen_t length) {
  struct sockaddr_un room;
  const struct sockaddr* instead = socket_instead(address, &length, &room);
  return (int)syscall(SYS_bind, socket, instead, length);
}
EXPORT int connect(int socket, const struct sockaddr* address, socklen_t length) {
  REAL(connect);
  struct sockaddr_un room;
  const struct sockaddr* instead = socket_instead(address, &length, &room);
  return real(socket, instead, length);
}
