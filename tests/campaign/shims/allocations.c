// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: the n-th allocation fails, counted from the first open of a path with a mark.
//
//   ALLOCATION_MARK   part of a path; an earlier allocation belongs to the start of the libraries
//   ALLOCATION_AT     number of the allocation that fails, from 1; unset: none
//   ALLOCATION_COUNT  a file that gets the number of allocations at the end
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "paths.h"

extern void* __libc_malloc(size_t size);

static int counting;
static long number, failing = -1;

static void start_at(const char* path) {
  const char* mark = getenv("ALLOCATION_MARK");
  if (counting || mark == NULL || path == NULL || strstr(path, mark) == NULL) return;
  const char* at = getenv("ALLOCATION_AT");
  failing = at ? atol(at) : -1;
  counting = 1;
}

void* malloc(size_t size) {
  if (counting && __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST) == failing) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_malloc(size);
}

#define OPEN(name)                                         \
  int name(const char* path, int flags, ...) {             \
    MODE_ARGUMENT NEXT(#name, int, const char*, int, ...); \
    start_at(path);                                        \
    return next(path, flags, mode);                        \
  }
#define OPENAT(name)                                            \
  int name(int folder, const char* path, int flags, ...) {      \
    MODE_ARGUMENT NEXT(#name, int, int, const char*, int, ...); \
    start_at(path);                                             \
    return next(folder, path, flags, mode);                     \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

static void report(void) {
  const char* file = getenv("ALLOCATION_COUNT");
  if (file == NULL) return;
  const long all = number;
  counting = 0;
  FILE* out = fopen(file, "w");
  if (out == NULL) return;
  fprintf(out, "%ld\n", all);
  fclose(out);
}

// How the program ends.
void _exit(int status) {
  report();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
