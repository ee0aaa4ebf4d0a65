// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD: a process is lost at its n-th call of one kind, or some time after it.
//
//   RANK_CALL    connect: to a store or a rank; writev: a message of an exchange; fsync: of a save
//   RANK_AT      number of the call, from 1; unset: none
//   RANK_DELAY   microseconds after the call; 0: before the call
//   RANK_FAULT   kill, stop, segv: this signal; exit: exit code 7
//   RANK_FIRED   a file that is created at the instant of the fault
//   RANK_COUNT   a file that gets the number of calls at the end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls;

static void lose(void) {
  const char *fault = getenv("RANK_FAULT"), *fired = getenv("RANK_FIRED");
  if (fired) close(open(fired, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (fault && strcmp(fault, "exit") == 0) _exit(7);
  const int is_stop = fault && strcmp(fault, "stop") == 0;
  const int is_segv = fault && strcmp(fault, "segv") == 0;
  const int number = is_stop ? SIGSTOP : is_segv ? SIGSEGV : SIGKILL;
  if (is_segv) signal(SIGSEGV, SIG_DFL);
  kill(getpid(), number);
}

static void* lose_later(void* delay) {
  usleep((useconds_t)(long)delay);
  lose();
  return NULL;
}

static void count(const char* name) {
  const char *call = getenv("RANK_CALL"), *at = getenv("RANK_AT"), *delay = getenv("RANK_DELAY");
  if (call == NULL || strcmp(call, name) != 0) return;
  const long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (at == NULL || number != atol(at)) return;
  const long microseconds = delay ? atol(delay) : 0;
  pthread_t thread;
  if (microseconds > 0 && pthread_create(&thread, NULL, lose_later, (void*)microseconds) == 0)
    return;
  lose();
}

#define NEXT(name) dlsym(RTLD_NEXT, name)

int connect(int fd, const struct sockaddr* address, socklen_t size) {
  static int (*next)(int, const struct sockaddr*, socklen_t);
  if (next == NULL) *(void**)&next = NEXT("connect");
  count("connect");
  return next(fd, address, size);
}

ssize_t writev(int fd, const struct iovec* parts, int size) {
  static ssize_t (*next)(int, const struct iovec*, int);
  if (next == NULL) *(void**)&next = NEXT("writev");
  count("writev");
  return next(fd, parts, size);
}

int fsync(int fd) {
  static int (*next)(int);
  if (next == NULL) *(void**)&next = NEXT("fsync");
  count("fsync");
  return next(fd);
}

static void report(void) {
  const char* file = getenv("RANK_COUNT");
  FILE* out = file ? fopen(file, "w") : NULL;
  if (out == NULL) return;
  fprintf(out, "%ld\n", calls);
  fclose(out);
}

// How the program ends.
void _exit(int status) {
  report();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
