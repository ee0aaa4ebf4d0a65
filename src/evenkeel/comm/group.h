// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

/// What happens between the ranks of a group; made by comm/engine.h.
class Engine;

/// Where the ranks of a group run.
struct Placement {
  std::string launcher;            // "torchrun", "srun", "mpirun", "--ranks"; empty: none
  int local_ranks = 1;             // ranks on this machine
  int ranks_on_cores = 1;          // ranks that may use the cores of this rank
  int ranks_on_device = 1;         // ranks with the GPU of this rank; on CPUs: local_ranks
  std::vector<std::string> hosts;  // names of the machines by rank; [ranks]
  std::string network;  // "gloo over eth0", "gloo over eth0 in two levels", "nccl, gloo over
                        // eth0"; empty: one rank
};

/// How far this rank is; printed in the message when a rank is lost.
struct Position {
  std::int64_t step = 0;         // the step that this rank works on, from 1; 0 before the first
  std::int64_t checkpoint = -1;  // the step of the last durable checkpoint; -1: none
};

/// All processes of one run. Every rank makes the same collective calls in the same order.
/// A sum over ranks is the binary tree of kernels/reduction_order.h over their values, so that its
/// bits do not depend on the network. A group of one rank has no engine, and its calls copy at
/// most.
///
/// A call of a group of several ranks does not return once a rank is lost: the process says which
/// rank it is, and ends with exit code 75.
class Group {
 public:
  /// One rank.
  Group();
  explicit Group(std::unique_ptr<Engine> engine);
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  ~Group();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool is_first() const { return rank_ == 0; }
  const Placement& placement() const { return placement_; }
  /// How messages name a rank: "rank 2 (a2, process 4711)".
  std::string name(int rank) const;

  /// part = the sum over ranks r of whole_r, values [bounds[rank], bounds[rank + 1]).
  /// \param whole   [n], float32 or float64, contiguous, in CPU memory or on the GPU of this rank;
  ///                only `part` is written to
  /// \param bounds  [ranks + 1], ascending from 0 to n: the piece of rank r begins at bounds[r] and
  ///                ends before bounds[r + 1]; it may be empty
  /// \param part    the output, of the dtype of `whole`; may be this rank's piece of `whole`
  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part);

  /// whole = the pieces of all ranks. This rank's piece is already in place.
  /// \param whole   [n], any dtype, contiguous, in CPU memory or on the GPU of this rank
  /// \param bounds  [ranks + 1], as in reduce_scatter()
  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds);

  /// The engine's own collectives, to which `bench ranks` compares these. Their bits depend on the
  /// number of ranks. \param whole  [n]; \param part  [n / ranks], all pieces are equally long
  void engine_all_reduce(const at::Tensor& whole);
  void engine_reduce_scatter(const at::Tensor& whole, const at::Tensor& part);

  /// What all ranks say, by rank: losses, squares, counts.
  /// \param mine  [n] float64; n is the same on all ranks
  /// \return      [ranks, n] float64, on the device of `mine`
  at::Tensor all_gather_scalars(const at::Tensor& mine);

  /// The texts of all ranks, by rank; they may differ in length. [ranks]
  std::vector<std::string> all_gather_texts(const std::string& mine);

  /// tensor = that of rank `from`. \param tensor  contiguous, any dtype
  void broadcast(const at::Tensor& tensor, int from);

  /// The text of rank `from`.
  std::string broadcast_text(const std::string& mine, int from);

  /// Returns when all ranks are there. \param where  what a message says is waited for
  void barrier(const char* where);

  /// Publishes the position of this rank with its heartbeat; costs nothing.
  void report(const Position& position);

  /// What the ranks do from now on, for the message when one does not come: "the evaluation after
  /// step "; the number of the last reported step follows. At first "step ".
  void set_activity(const char* activity);

  /// Says where the run is: messages of a lost rank name the command that resumes it, and ranks
  /// other than 0 write theirs to log-rank-RANK.txt there.
  void set_run_folder(const std::string& folder);

  /// Announces that this rank ends with an error: all others end with the same exit code and print
  /// nothing. Several ranks may fail at once.
  /// \return true if this rank has to print the error: it is the first, or alone
  bool fail(Exit exit, const std::string& message);

  /// The last call of a run that ended in good order: waits for all ranks.
  void leave();

  /// Seconds that this rank spent in calls of this group since it was made. They begin when its GPU
  /// has computed what the call exchanges.
  double seconds() const { return seconds_; }

 private:
  std::unique_ptr<Engine> engine_;  // nullptr: one rank
  int rank_ = 0;
  int ranks_ = 1;
  Placement placement_;
  double seconds_ = 0;
};

}  // namespace evenkeel::comm
