// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: logs every call that changes files below a folder, with its data, for posix_model.py.
//
//   WRITE_LOG_FOLDER   absolute path; other calls are not logged
//   WRITE_LOG          the log
//   WRITE_LOG_SWALLOW  "file" or "folder": fsync of files, or of folders, does nothing and is not
//   logged
//
// A record: kind (1 byte), sizes of path, second path and data (3 x 4), offset (8), size of
// standard error before the call (8), path, second path, data. Kinds: C create, M make a folder, W
// write, L set the length, F fsync of a file, D fsync of a folder, R rename, X exchange, H hard
// link, U unlink, B remove a folder.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "paths.h"

static const char* folder;
static int log_file = -1, swallow_files, swallow_folders;
static __thread int64_t reported;  // size of standard error before the call
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void read_environment(void) {
  folder = getenv("WRITE_LOG_FOLDER");
  const char *file = getenv("WRITE_LOG"), *swallow = getenv("WRITE_LOG_SWALLOW");
  swallow_files = swallow && strcmp(swallow, "file") == 0;
  swallow_folders = swallow && strcmp(swallow, "folder") == 0;
  if (file == NULL) return;
  log_file =
      (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log_file >= 0) log_file = (int)syscall(SYS_fcntl, log_file, F_DUPFD_CLOEXEC, 900);
}

static int64_t size_of(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? status.st_size : 0;
}

static void record(char kind, const char* path, const char* second, int64_t offset,
                   const void* data, size_t size) {
  if (log_file < 0 || !(is_below(path, folder) || is_below(second, folder))) return;
  const uint32_t sizes[3] = {(uint32_t)strlen(path), (uint32_t)strlen(second), (uint32_t)size};
  struct iovec parts[] = {{&kind, 1},
                          {(void*)sizes, sizeof sizes},
                          {&offset, sizeof offset},
                          {&reported, sizeof reported},
                          {(void*)path, sizes[0]},
                          {(void*)second, sizes[1]},
                          {(void*)data, size}};
  pthread_mutex_lock(&mutex);
  if (syscall(SYS_writev, log_file, parts, 7) < 0) abort();
  pthread_mutex_unlock(&mutex);
}

static void record_file(char kind, int file, int64_t offset, const void* data, size_t size) {
  char path[PATH_MAX];
  path_of_descriptor(file, path);
  record(kind, path, "", offset, data, size);
}

static void record_path(char kind, int at, const char* path) {
  char full[PATH_MAX];
  absolute_path(at, path, full);
  record(kind, full, "", 0, NULL, 0);
}

static void record_paths(char kind, int from_at, const char* from, int to_at, const char* to) {
  char one[PATH_MAX], other[PATH_MAX];
  absolute_path(from_at, from, one);
  absolute_path(to_at, to, other);
  record(kind, one, other, 0, NULL, 0);
}

#define BEGIN reported = size_of(STDERR_FILENO)

static int exists(int at, const char* path) {
  struct stat status;
  return fstatat(at, path, &status, 0) == 0;
}

// What an open changed.
static void record_open(int at, const char* path, int flags, int existed, int file) {
  if (file < 0) return;
  if ((flags & O_CREAT) && !existed) record_path('C', at, path);
  if ((flags & O_TRUNC) && existed) record_file('L', file, 0, NULL, 0);
}

#define OPEN(name)                                                        \
  int name(const char* path, int flags, ...) {                            \
    MODE_ARGUMENT NEXT(#name, int, const char*, int, ...);                \
    BEGIN;                                                                \
    const int existed = (flags & O_CREAT) == 0 || exists(AT_FDCWD, path); \
    const int file = next(path, flags, mode);                             \
    record_open(AT_FDCWD, path, flags, existed, file);                    \
    return file;                                                          \
  }
#define OPENAT(name)                                                \
  int name(int at, const char* path, int flags, ...) {              \
    MODE_ARGUMENT NEXT(#name, int, int, const char*, int, ...);     \
    BEGIN;                                                          \
    const int existed = (flags & O_CREAT) == 0 || exists(at, path); \
    const int file = next(at, path, flags, mode);                   \
    record_open(at, path, flags, existed, file);                    \
    return file;                                                    \
  }
#define FOPEN(name)                                                                    \
  FILE* name(const char* path, const char* how) {                                      \
    NEXT(#name, FILE*, const char*, const char*);                                      \
    BEGIN;                                                                             \
    const int existed = exists(AT_FDCWD, path);                                        \
    FILE* file = next(path, how);                                                      \
    const int flags = how[0] == 'r' ? 0 : how[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT; \
    if (file != NULL) record_open(AT_FDCWD, path, flags, existed, fileno(file));       \
    return file;                                                                       \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

// Logs bytes that were written at the end of an appending file, or before its position.
static void record_write(int file, const void* data, ssize_t size) {
  if (size <= 0) return;
  const int appends = fcntl(file, F_GETFL) & O_APPEND;
  const int64_t end = appends ? size_of(file) : lseek(file, 0, SEEK_CUR);
  record_file('W', file, end - size, data, (size_t)size);
}

ssize_t write(int file, const void* data, size_t size) {
  NEXT("write", ssize_t, int, const void*, size_t);
  BEGIN;
  const ssize_t written = next(file, data, size);
  const int error = errno;
  record_write(file, data, written);
  errno = error;
  return written;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t written = write(file, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return all > 0 ? all : -1;
    all += written;
    if ((size_t)written < parts[i].iov_len) break;
  }
  return all;
}

#define PWRITE(name)                                                    \
  ssize_t name(int file, const void* data, size_t size, off_t at) {     \
    NEXT(#name, ssize_t, int, const void*, size_t, off_t);              \
    BEGIN;                                                              \
    const ssize_t written = next(file, data, size, at);                 \
    if (written > 0) record_file('W', file, at, data, (size_t)written); \
    return written;                                                     \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

static int synced(int file, int (*next)(int)) {
  struct stat status;
  const int is_folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  char path[PATH_MAX];
  path_of_descriptor(file, path);
  if (is_below(path, folder) && (is_folder ? swallow_folders : swallow_files)) return 0;
  const int result = next(file);
  if (result == 0) record_file(is_folder ? 'D' : 'F', file, 0, NULL, 0);
  return result;
}

int fsync(int file) {
  NEXT("fsync", int, int);
  BEGIN;
  return synced(file, next);
}

int fdatasync(int file) {
  NEXT("fdatasync", int, int);
  BEGIN;
  return synced(file, next);
}

#define FTRUNCATE(name)                                     \
  int name(int file, off_t size) {                          \
    NEXT(#name, int, int, off_t);                           \
    BEGIN;                                                  \
    const int result = next(file, size);                    \
    if (result == 0) record_file('L', file, size, NULL, 0); \
    return result;                                          \
  }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

// Reserved space that extends a file reads as zeros.
#define FALLOCATE(name)                                                                        \
  int name(int file, int mode, off_t at, off_t size) {                                         \
    NEXT(#name, int, int, int, off_t, off_t);                                                  \
    BEGIN;                                                                                     \
    const int64_t before = size_of(file);                                                      \
    const int result = next(file, mode, at, size);                                             \
    if (result == 0 && size_of(file) > before) record_file('L', file, size_of(file), NULL, 0); \
    return result;                                                                             \
  }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

int rename(const char* from, const char* to) {
  NEXT("rename", int, const char*, const char*);
  BEGIN;
  const int result = next(from, to);
  if (result == 0) record_paths('R', AT_FDCWD, from, AT_FDCWD, to);
  return result;
}

int renameat(int from_at, const char* from, int to_at, const char* to) {
  NEXT("renameat", int, int, const char*, int, const char*);
  BEGIN;
  const int result = next(from_at, from, to_at, to);
  if (result == 0) record_paths('R', from_at, from, to_at, to);
  return result;
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  NEXT("renameat2", int, int, const char*, int, const char*, unsigned);
  BEGIN;
  const int result = next(from_at, from, to_at, to, flags);
  if (result == 0) record_paths(flags & 2 ? 'X' : 'R', from_at, from, to_at, to);
  return result;
}

int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  NEXT("linkat", int, int, const char*, int, const char*, int);
  BEGIN;
  const int result = next(from_at, from, to_at, to, flags);
  if (result == 0) record_paths('H', from_at, from, to_at, to);
  return result;
}

#define ON_PATH(name, kind, at, arguments, types, ...) \
  int name arguments {                                 \
    NEXT(#name, int, types);                           \
    BEGIN;                                             \
    const int result = next(__VA_ARGS__);              \
    if (result == 0) record_path(kind, at, path);      \
    return result;                                     \
  }
#define LIST(...) __VA_ARGS__
ON_PATH(unlink, 'U', AT_FDCWD, (const char* path), const char*, path)
ON_PATH(rmdir, 'B', AT_FDCWD, (const char* path), const char*, path)
ON_PATH(remove, 'U', AT_FDCWD, (const char* path), const char*, path)
ON_PATH(mkdir, 'M', AT_FDCWD, (const char* path, mode_t mode), LIST(const char*, mode_t), path,
        mode)
ON_PATH(mkdirat, 'M', at, (int at, const char* path, mode_t mode), LIST(int, const char*, mode_t),
        at, path, mode)
ON_PATH(unlinkat, 'U', at, (int at, const char* path, int flags), LIST(int, const char*, int), at,
        path, flags)
