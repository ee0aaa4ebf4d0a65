// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/roll_call.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/comm/network.h"

namespace evenkeel::comm {

namespace {

using RollCallClock = std::chrono::steady_clock;

std::string member_key(int rank) {
  return text("member/", rank);
}

nlohmann::json json_of(const Facts& facts) {
  auto out = nlohmann::json::array();
  for (const auto& [name, value] : facts) out.push_back({name, value});
  return out;
}

Facts facts_of(const nlohmann::json& json) {
  Facts facts;
  for (const auto& each : json)
    facts.emplace_back(each.at(0).get<std::string>(), each.at(1).get<std::string>());
  return facts;
}

std::string text_of(const Member& member) {
  const nlohmann::json json = {{"ranks", member.ranks},     {"host", member.host},
                               {"process", member.process}, {"address", member.address},
                               {"master", member.master},   {"gpu", member.gpu},
                               {"cores", member.cores},     {"facts", json_of(member.facts)}};
  return json_dump(json);
}

Member member_of(const std::string& value) {
  const auto json = parse_json(value);
  EK_ASSERT(json.is_object());
  return {.ranks = json.at("ranks"),
          .host = json.at("host"),
          .process = json.at("process"),
          .address = json.at("address"),
          .master = json.at("master"),
          .gpu = json.at("gpu"),
          .cores = json.at("cores").get<std::vector<int>>(),
          .facts = facts_of(json.at("facts"))};
}

/// The key that rank 0 sets when the group is complete.
constexpr auto kCompleteKey = "complete";

void check_sizes(const Store& store, const Place& place, int rank, const Member& member) {
  if (member.ranks == place.ranks) return;
  const auto message = text(place.ranks_variable, " is ", place.ranks, " here, but ", member.ranks,
                            " for ", member_name(rank, member));
  // The members of a group of this size read no heartbeat of so high a rank.
  const bool is_ignored = place.rank >= member.ranks;
  if (is_ignored || store.has(kCompleteKey)) throw NotAMember(Exit::usage, message);
  throw Error(Exit::usage, message);
}

[[noreturn]] void refuse_missing(const std::vector<std::optional<Member>>& members,
                                 const Place& place, std::chrono::seconds timeout) {
  std::string missing;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (!members[rank]) missing += text(missing.empty() ? "" : ", ", rank);
  }
  throw Error(Exit::busy, missing_ranks_text(place, timeout, missing));
}

}  // namespace

int ranks_on_cores(const std::vector<Member>& members, int rank) {
  const auto& own = members[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::count_if(members.begin(), members.end(), [&](const Member& each) {
    std::vector<int> shared;
    std::set_intersection(own.cores.begin(), own.cores.end(), each.cores.begin(), each.cores.end(),
                          std::back_inserter(shared));
    return each.host == own.host && !shared.empty();
  }));
}

std::string member_name(int rank, const Member& member) {
  return text("rank ", rank, " (", member.host, ", process ", member.process, ")");
}

std::string facts_text(const Facts& facts) {
  return json_dump(json_of(facts));
}

Facts parse_facts(const std::string& value) {
  return facts_of(parse_json(value));
}

std::string difference_of(const std::vector<Facts>& facts, const std::vector<std::string>& names) {
  for (std::size_t rank = 1; rank < facts.size(); ++rank) {
    const auto& first = facts.front();
    for (std::size_t i = 0; i < std::max(first.size(), facts[rank].size()); ++i) {
      const Facts::value_type none = {"", "unset"};
      const auto& here = i < facts[rank].size() ? facts[rank][i] : none;
      const auto& there = i < first.size() ? first[i] : none;
      if (here == there) continue;
      return text(names[rank], " has ", here.first.empty() ? there.first : here.first, " = ",
                  here.second, ", but rank 0 has ", there.second);
    }
  }
  return "";
}

void claim_rank(const Store& store, const Place& place, const Member& self) {
  const auto own = text_of(self);
  const auto first = store.set_once(member_key(place.rank), own);
  if (first == own) return;
  throw NotAMember(Exit::usage, text("rank ", place.rank, " is here twice: this process, and ",
                                     member_name(place.rank, member_of(first)),
                                     "; each process needs a rank of its own, and each run a ",
                                     "MASTER_PORT of its own"));
}

std::vector<Member> roll_call(const Store& store, const Place& place, std::chrono::seconds timeout,
                              const std::function<void(int, const Member&)>& on_arrival,
                              const std::function<void(int)>& on_missing) {
  constexpr std::chrono::milliseconds kFirstPause{10}, kLongestPause{200};
  const auto end = RollCallClock::now() + timeout;
  std::vector<std::optional<Member>> found(static_cast<std::size_t>(place.ranks));
  std::size_t count = 0;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    for (int rank = 0; rank < place.ranks; ++rank) {
      auto& member = found[static_cast<std::size_t>(rank)];
      if (member) continue;
      if (!store.has(member_key(rank))) {
        if (on_missing) on_missing(rank);
        continue;
      }
      member = member_of(store.get({member_key(rank)}).front());
      ++count;
      on_arrival(rank, *member);
      check_sizes(store, place, rank, *member);
    }
    if (count == found.size()) break;
    if (RollCallClock::now() >= end) refuse_missing(found, place, timeout);
    std::this_thread::sleep_for(pause);
  }
  std::vector<Member> members;
  std::vector<Facts> facts;
  std::vector<std::string> names;
  for (auto& each : found) {
    names.push_back(member_name(static_cast<int>(members.size()), *each));
    facts.push_back(each->facts);
    members.push_back(std::move(*each));
  }
  const auto difference = difference_of(facts, names);
  if (!difference.empty()) throw Error(Exit::differs, difference);
  if (place.rank == 0) store.set(kCompleteKey, "1");
  return members;
}

std::string missing_ranks_text(const Place& place, std::chrono::seconds timeout,
                               const std::string& missing) {
  return text("waited ", timeout.count(), " s for ", place.ranks, " processes; missing: rank ",
              missing, cure_of_port(place));
}

std::string listening_address(const std::vector<Member>& members, int rank) {
  const auto& own = members[static_cast<std::size_t>(rank)].address;
  if (!is_loopback(own)) return own;
  for (const auto& each : members) {
    if (!is_loopback(each.address) && !is_loopback(each.master)) return each.master;
  }
  return own;
}

}  // namespace evenkeel::comm
