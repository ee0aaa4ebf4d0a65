// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latch>
#include <thread>

namespace evenkeel::ops {

/// While an object exists, OpenMP threads spin at barriers for about a microsecond, then sleep (as
/// GOMP_SPINCOUNT would set).
///
/// GCC's OpenMP (libgomp) spins for up to 3 ms, which is best on a quiet machine. On a busy
/// one a spinning thread holds a processor that a thread with work needs. libgomp shortens
/// its waits once the process has more OpenMP threads than processors. So this object starts a team
/// of idle threads, if the system can create them. Results do not depend on it. The variables
/// OMP_WAIT_POLICY and GOMP_SPINCOUNT fix the waits from outside.
class ShortWaits {
 public:
  /// \param threads  of the teams that compute
  explicit ShortWaits(int threads);

 private:
  std::latch started_{1};
  std::jthread team_;
};

/// True if OMP_WAIT_POLICY or GOMP_SPINCOUNT is set: a ShortWaits has no effect.
bool are_waits_fixed();

/// Whether waits are to be short, from the processors that other processes keep busy.
/// \param now    whether waits are short at present (hysteresis)
/// \param cores  processors that other processes keep busy: their CPU time over elapsed time
bool wants_short_waits(bool now, double cores);

/// Measures every quarter second how many processors other processes keep busy, and keeps a
/// ShortWaits while they do. It does nothing for one thread, where OMP_WAIT_POLICY or
/// GOMP_SPINCOUNT is set, or without /proc/stat.
class BusyMachineWatch {
 public:
  /// \param threads  of the teams that compute
  explicit BusyMachineWatch(int threads);

 private:
  std::jthread thread_;
};

}  // namespace evenkeel::ops
