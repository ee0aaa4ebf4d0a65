// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/rendezvous.h"

#include <exception>
#include <ios>
#include <random>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/roll_call.h"

namespace evenkeel::comm {

namespace {

std::string random_word() {
  std::random_device random;
  return text(std::hex, random(), "-", random());
}

std::string ask_key(int rank) {
  return text("ask/", rank);
}

std::string answer_key(int rank, const std::string& word) {
  return text("answer/", rank, "/", word);
}

/// The name of the start, from rank 0.
std::string ask_rank_0(const Store& store, const Place& place, std::chrono::seconds timeout) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + timeout;
  const auto word = random_word();
  const auto key = answer_key(place.rank, word);
  store.set(ask_key(place.rank), word);
  while (!store.has(key)) {
    if (std::chrono::steady_clock::now() >= end) {
      throw Error(Exit::busy, missing_ranks_text(place, timeout, "0"));
    }
    std::this_thread::sleep_for(kPause);
  }
  return store.get({key}).front();
}

}  // namespace

Rendezvous::Rendezvous(Store store, const Place& place, std::chrono::seconds timeout)
    : store_(std::move(store)) {
  if (!place.has_agent_store) return;
  if (place.rank == 0) {
    name_ = random_word();
    return;
  }
  try {
    name_ = ask_rank_0(store_, place, timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Exit::busy, text("MASTER_ADDR: the store of torchrun at ", place.address, ":",
                                 place.port, " is lost: ", engine_error(error)));
  }
}

Store Rendezvous::part_of(const Store& connection) const {
  return name_.empty() ? connection : connection.under(name_);
}

void Rendezvous::answer(int rank) const {
  if (name_.empty() || !store_.has(ask_key(rank))) return;
  const auto key = answer_key(rank, store_.get({ask_key(rank)}).front());
  if (!store_.has(key)) store_.set(key, name_);
}

}  // namespace evenkeel::comm
