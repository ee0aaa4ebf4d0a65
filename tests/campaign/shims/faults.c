// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: one call that works on files below a folder fails, is short, or kills the process.
//
//   FAULT_FOLDER      absolute path; other calls are not counted
//   FAULT_RANK        only the process of this rank (RANK in its environment); unset: every process
//   FAULT_AT          number of the call, from 1; unset: none
//   FAULT_KIND        EIO, ENOSPC, EINTR, EMFILE; "short": half of the bytes; "kill": SIGKILL
//
//   FAULT_FOR_GOOD    if set, all later calls fail, too
//   FAULT_TRACE       a file that gets one line for each call: NUMBER CALL PATH
//                     each rank has its own, FILE.RANK, unless FAULT_RANK is set
//   FAULT_THREAD      pthread_create fails from this call on
//   FAULT_LOCK_DELAY  milliseconds that each lock waits first
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include "paths.h"

enum { kNone = 0, kKill = -1, kShort = -2 };

static const char* fault_folder;
static long fault_at, calls;
static int fault_kind, fault_for_good, trace = -1;

static int kind_of(const char* name) {
  if (name == NULL) return kNone;
  if (strcmp(name, "kill") == 0) return kKill;
  if (strcmp(name, "short") == 0) return kShort;
  if (strcmp(name, "ENOSPC") == 0) return ENOSPC;
  if (strcmp(name, "EINTR") == 0) return EINTR;
  if (strcmp(name, "EMFILE") == 0) return EMFILE;
  return EIO;
}

__attribute__((constructor)) static void read_environment(void) {
  const char *of_rank = getenv("FAULT_RANK"), *rank = getenv("RANK");
  if (of_rank && (rank == NULL || strcmp(of_rank, rank) != 0)) return;
  fault_folder = getenv("FAULT_FOLDER");
  const char *at = getenv("FAULT_AT"), *file = getenv("FAULT_TRACE");
  fault_at = at ? atol(at) : 0;
  fault_kind = kind_of(getenv("FAULT_KIND"));
  fault_for_good = getenv("FAULT_FOR_GOOD") != NULL;
  if (file) {
    char path[PATH_MAX];
    const int of_each = rank && !of_rank;
    snprintf(path, sizeof path, "%s%s%s", file, of_each ? "." : "", of_each ? rank : "");
    trace =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (trace >= 0) trace = (int)syscall(SYS_fcntl, trace, F_DUPFD_CLOEXEC, 900);  // not 0 to 2
  }
}

// Counts a call. \return 0: it goes on; kShort; else the errno with which it fails
static int fault_of(const char* call, const char* path) {
  if (!is_below(path, fault_folder)) return kNone;
  const long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (trace >= 0) {
    char line[PATH_MAX + 64];
    const int size = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
    if (syscall(SYS_write, trace, line, size) != size) return kNone;
  }
  if (fault_at == 0 || number < fault_at || (number > fault_at && !fault_for_good)) return kNone;
  if (fault_kind == kKill) syscall(SYS_kill, getpid(), SIGKILL);
  return fault_kind;
}

static int fault_of_path(const char* call, int folder, const char* path) {
  char full[PATH_MAX];
  absolute_path(folder, path, full);
  return fault_of(call, full);
}

static int fault_of_descriptor(const char* call, int descriptor) {
  char full[PATH_MAX];
  path_of_descriptor(descriptor, full);
  return fault_of(call, full);
}

#define FAIL(fault, value)    \
  do {                        \
    const int code = (fault); \
    if (code > 0) {           \
      errno = code;           \
      return value;           \
    }                         \
  } while (0)

static const char* open_call(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY ? "open_to_read" : "open_to_write";
}

#define OPEN(name)                                             \
  int name(const char* path, int flags, ...) {                 \
    MODE_ARGUMENT NEXT(#name, int, const char*, int, ...);     \
    FAIL(fault_of_path(open_call(flags), AT_FDCWD, path), -1); \
    return next(path, flags, mode);                            \
  }
#define OPENAT(name)                                            \
  int name(int folder, const char* path, int flags, ...) {      \
    MODE_ARGUMENT NEXT(#name, int, int, const char*, int, ...); \
    FAIL(fault_of_path(open_call(flags), folder, path), -1);    \
    return next(folder, path, flags, mode);                     \
  }
#define OPEN_2(name)                                           \
  int name(const char* path, int flags) {                      \
    NEXT(#name, int, const char*, int);                        \
    FAIL(fault_of_path(open_call(flags), AT_FDCWD, path), -1); \
    return next(path, flags);                                  \
  }
#define OPENAT_2(name)                                       \
  int name(int folder, const char* path, int flags) {        \
    NEXT(#name, int, int, const char*, int);                 \
    FAIL(fault_of_path(open_call(flags), folder, path), -1); \
    return next(folder, path, flags);                        \
  }
#define FOPEN(name)                                     \
  FILE* name(const char* path, const char* how) {       \
    NEXT(#name, FILE*, const char*, const char*);       \
    FAIL(fault_of_path("fopen", AT_FDCWD, path), NULL); \
    return next(path, how);                             \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OPEN_2(__open_2)
OPEN_2(__open64_2)
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)
FOPEN(fopen)
FOPEN(fopen64)

// Reads and writes: `size` may be halved.
#define TRANSFER(name, call, buffer_type)                                   \
  ssize_t name(int file, buffer_type data, size_t size) {                   \
    NEXT(#name, ssize_t, int, buffer_type, size_t);                         \
    const int fault = fault_of_descriptor(call, file);                      \
    FAIL(fault, -1);                                                        \
    return next(file, data, fault == kShort && size > 1 ? size / 2 : size); \
  }
#define TRANSFER_AT(name, call, buffer_type)                                    \
  ssize_t name(int file, buffer_type data, size_t size, off_t at) {             \
    NEXT(#name, ssize_t, int, buffer_type, size_t, off_t);                      \
    const int fault = fault_of_descriptor(call, file);                          \
    FAIL(fault, -1);                                                            \
    return next(file, data, fault == kShort && size > 1 ? size / 2 : size, at); \
  }
TRANSFER(read, "read", void*)
TRANSFER(write, "write", const void*)
TRANSFER_AT(pread, "read", void*)
TRANSFER_AT(pread64, "read", void*)
TRANSFER_AT(pwrite, "write", const void*)
TRANSFER_AT(pwrite64, "write", const void*)

ssize_t __read_chk(int file, void* data, size_t size, size_t room) {
  NEXT("__read_chk", ssize_t, int, void*, size_t, size_t);
  const int fault = fault_of_descriptor("read", file);
  FAIL(fault, -1);
  return next(file, data, fault == kShort && size > 1 ? size / 2 : size, room);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  NEXT("writev", ssize_t, int, const struct iovec*, int);
  const int fault = fault_of_descriptor("write", file);
  FAIL(fault, -1);
  if (fault != kShort || count < 1 || parts[0].iov_len < 2) return next(file, parts, count);
  const struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
  return next(file, &half, 1);
}

// Calls on one descriptor.
#define ON_FILE(name, call, arguments, ...)    \
  int name arguments {                         \
    NEXT(#name, int, ON_FILE_TYPES_##name);    \
    FAIL(fault_of_descriptor(call, file), -1); \
    return next(__VA_ARGS__);                  \
  }
#define ON_FILE_TYPES_fsync int
#define ON_FILE_TYPES_fdatasync int
#define ON_FILE_TYPES_ftruncate int, off_t
#define ON_FILE_TYPES_ftruncate64 int, off_t
#define ON_FILE_TYPES_fallocate int, int, off_t, off_t
#define ON_FILE_TYPES_fallocate64 int, int, off_t, off_t
#define ON_FILE_TYPES_fstatvfs int, struct statvfs*
ON_FILE(fsync, "fsync", (int file), file)
ON_FILE(fdatasync, "fsync", (int file), file)
ON_FILE(ftruncate, "ftruncate", (int file, off_t size), file, size)
ON_FILE(ftruncate64, "ftruncate", (int file, off_t size), file, size)
ON_FILE(fallocate, "fallocate", (int file, int mode, off_t at, off_t size), file, mode, at, size)
ON_FILE(fallocate64, "fallocate", (int file, int mode, off_t at, off_t size), file, mode, at, size)
ON_FILE(fstatvfs, "statvfs", (int file, struct statvfs* out), file, out)

// A close that fails has closed the file.
int close(int file) {
  NEXT("close", int, int);
  const int fault = fault_of_descriptor("close", file);
  const int result = next(file);
  FAIL(fault, -1);
  return result;
}

// Calls on one path.
#define ON_PATH(name, call, folder, type, failure, arguments, types, ...) \
  type name arguments {                                                   \
    NEXT(#name, type, types);                                             \
    FAIL(fault_of_path(call, folder, path), failure);                     \
    return next(__VA_ARGS__);                                             \
  }
#define LIST(...) __VA_ARGS__
ON_PATH(unlink, "unlink", AT_FDCWD, int, -1, (const char* path), const char*, path)
ON_PATH(remove, "unlink", AT_FDCWD, int, -1, (const char* path), const char*, path)
ON_PATH(rmdir, "rmdir", AT_FDCWD, int, -1, (const char* path), const char*, path)
ON_PATH(opendir, "opendir", AT_FDCWD, DIR*, NULL, (const char* path), const char*, path)
ON_PATH(mkdir, "mkdir", AT_FDCWD, int, -1, (const char* path, mode_t mode),
        LIST(const char*, mode_t), path, mode)
ON_PATH(mkdirat, "mkdir", at, int, -1, (int at, const char* path, mode_t mode),
        LIST(int, const char*, mode_t), at, path, mode)
ON_PATH(unlinkat, "unlink", at, int, -1, (int at, const char* path, int flags),
        LIST(int, const char*, int), at, path, flags)
ON_PATH(statvfs, "statvfs", AT_FDCWD, int, -1, (const char* path, struct statvfs* out),
        LIST(const char*, struct statvfs*), path, out)

// Calls on two paths: the second one counts.
int rename(const char* from, const char* to) {
  NEXT("rename", int, const char*, const char*);
  FAIL(fault_of_path("rename", AT_FDCWD, to), -1);
  return next(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  NEXT("renameat", int, int, const char*, int, const char*);
  FAIL(fault_of_path("rename", to_folder, to), -1);
  return next(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  NEXT("renameat2", int, int, const char*, int, const char*, unsigned);
  FAIL(fault_of_path(flags ? "exchange" : "rename", to_folder, to), -1);
  return next(from_folder, from, to_folder, to, flags);
}

// Locks.
static int lock_fault(int file) {
  const char* delay = getenv("FAULT_LOCK_DELAY");
  if (delay) usleep((useconds_t)atoi(delay) * 1000);
  return fault_of_descriptor("lock", file);
}

#define FCNTL(name)                                                                            \
  int name(int file, int command, ...) {                                                       \
    va_list list;                                                                              \
    va_start(list, command);                                                                   \
    void* argument = va_arg(list, void*);                                                      \
    va_end(list);                                                                              \
    NEXT(#name, int, int, int, ...);                                                           \
    const int locks = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLK; \
    if (locks) FAIL(lock_fault(file), -1);                                                     \
    return next(file, command, argument);                                                      \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int file, int operation) {
  NEXT("flock", int, int, int);
  FAIL(lock_fault(file), -1);
  return next(file, operation);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  static int number = 0;
  NEXT("pthread_create", int, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  const char* from = getenv("FAULT_THREAD");
  if (from && __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST) >= atoi(from)) return EAGAIN;
  return next(thread, attributes, body, argument);
}
