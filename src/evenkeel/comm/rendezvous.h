// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "evenkeel/comm/place.h"
#include "evenkeel/comm/store.h"

namespace evenkeel::comm {

/// How the ranks of one start find each other in the store of torchrun's agent, which lives on when
/// all ranks start again. No variable numbers the starts: each agent counts only the failures of
/// its own ranks (TORCHELASTIC_RESTART_COUNT). So rank 0 names its start, and the other ranks ask:
///
/// | key              | set by | value                                                     |
/// | ---------------- | ------ | --------------------------------------------------------- |
/// | ask/RANK         | RANK   | WORD: random, so that no earlier process of RANK had it   |
/// | answer/RANK/WORD | rank 0 | the name of the start: random                             |
///
/// A store that rank 0 serves is new with each start: nobody asks, and the name is empty.
class Rendezvous {
 public:
  /// Rank 0 chooses the name. Every other rank asks, and waits for the answer.
  /// \throws Error (busy, exit code 75) if none comes in time, or the store is lost
  Rendezvous(Store store, const Place& place, std::chrono::seconds timeout);

  /// The part of the store with the keys of this start. \param connection  to the same store
  Store part_of(const Store& connection) const;

  /// Rank 0: answers a rank that has not come yet. Repeat it until the rank has come: what it
  /// answers may be the question of an earlier process.
  void answer(int rank) const;

 private:
  Store store_;
  std::string name_;
};

}  // namespace evenkeel::comm
