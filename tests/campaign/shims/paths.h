// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The absolute path of a call's argument, for libraries that are loaded with LD_PRELOAD.

// The next function of this name: the one that the program would have called.
#define NEXT(name, type, ...)              \
  static type (*next)(__VA_ARGS__) = NULL; \
  if (next == NULL) *(void**)(&next) = dlsym(RTLD_NEXT, name)

// The variable argument `mode` of open(), where the flags say that there is one.
#define MODE_ARGUMENT                                               \
  mode_t mode = 0;                                                  \
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) { \
    va_list list;                                                   \
    va_start(list, flags);                                          \
    mode = va_arg(list, mode_t);                                    \
    va_end(list);                                                   \
  }

// Writes the path of an open descriptor; "" if it has none.
static inline void path_of_descriptor(int descriptor, char out[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
  out[size < 0 ? 0 : size] = '\0';
}

// Writes the path that (folder descriptor, path) names.
static inline void absolute_path(int folder, const char* path, char out[PATH_MAX]) {
  out[0] = '\0';
  if (path == NULL) return;
  if (path[0] != '/') {
    if (folder == AT_FDCWD) {
      if (getcwd(out, PATH_MAX) == NULL) return;
    } else {
      path_of_descriptor(folder, out);
    }
    if (path[0] == '\0' || strcmp(path, ".") == 0) return;
    strncat(out, "/", PATH_MAX - strlen(out) - 1);
  }
  strncat(out, path, PATH_MAX - strlen(out) - 1);
}

// Whether a path is a folder or lies in it.
static inline int is_below(const char* path, const char* folder) {
  if (folder == NULL || path[0] == '\0') return 0;
  const size_t size = strlen(folder);
  return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}
