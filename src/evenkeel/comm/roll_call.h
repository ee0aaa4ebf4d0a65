// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/place.h"
#include "evenkeel/comm/store.h"

namespace evenkeel::comm {

/// What must be equal on all ranks: pairs of a name and a value, "train.batch" and "8".
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What a rank says of itself before the group is formed.
struct Member {
  int ranks = 1;     // of the run, as its launcher says
  std::string host;  // name of its machine
  std::int64_t process = 0;
  std::string address;          // IP address on the path to rank 0
  std::string master;           // what MASTER_ADDR means on its machine
  std::string gpu;              // the UUID of its GPU; empty: it trains on the CPU
  std::vector<int> cores = {};  // numbers of the CPU cores that it may use, ascending
  Facts facts;
};

/// Ranks on the machine of `rank` that may use one of its cores, itself included. A launcher that
/// gives each rank its own cores: 1.
int ranks_on_cores(const std::vector<Member>& members, int rank);

/// "rank 2 (a2, process 4711)"
std::string member_name(int rank, const Member& member);

/// A process that has no place in the group of the store: it ends alone, and the group goes on.
class NotAMember : public Error {
 public:
  using Error::Error;
};

/// Publishes this rank.
/// \throws NotAMember (usage, 64) if another process already did so as the same rank
void claim_rank(const Store& store, const Place& place, const Member& self);

/// Reads all ranks as they come. This rank is claimed before.
/// \param on_arrival  is called once for each rank, in the order of arrival
/// \param on_missing  is called again and again for each rank that has not come; may be empty
/// \return the members by rank
/// \throws Error (busy, exit code 75) if ranks are missing after `timeout`; (usage, 64) if numbers
///         of ranks differ: NotAMember if the group is complete, or smaller than this rank;
///         (differs, 78) if facts differ
std::vector<Member> roll_call(const Store& store, const Place& place, std::chrono::seconds timeout,
                              const std::function<void(int, const Member&)>& on_arrival,
                              const std::function<void(int)>& on_missing = {});

/// "waited 300 s for 4 processes; missing: rank 1, 3", and what to do where the launcher names no
/// port. \param missing  "1, 3"
std::string missing_ranks_text(const Place& place, std::chrono::seconds timeout,
                               const std::string& missing);

/// "rank 3 (a2, process 4711) has train.batch = 16, but rank 0 has 8": the first difference.
/// \param names  by rank, as of member_name()
/// \return empty if all are equal
std::string difference_of(const std::vector<Facts>& facts, const std::vector<std::string>& names);

/// Facts as text, and back.
std::string facts_text(const Facts& facts);
Facts parse_facts(const std::string& value);

/// The address that this rank listens on: its own on the path to rank 0, or, where that is the
/// loopback interface and other machines take part, the address under which those reach rank 0.
std::string listening_address(const std::vector<Member>& members, int rank);

}  // namespace evenkeel::comm
