// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/store.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/connect_deadline.h"
#include "evenkeel/comm/network.h"
#include "evenkeel/comm/store_handle.h"

namespace evenkeel::comm {

namespace {

/// c10d prints warnings with stacks on standard error, unless the user asks for them.
void silence_engine() {
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", /*overwrite=*/0);
  c10::initLogging();
}

std::string nobody_answers(const Place& place, std::chrono::seconds timeout) {
  return text("MASTER_ADDR: nobody answers at ", place.address, ":", place.port, " after ",
              timeout.count(), " s; is rank 0 running, and is the name right?",
              cure_of_port(place));
}

/// Why there is no connection to the store, after the timeout.
std::string no_connection(const Place& place, std::chrono::seconds timeout) {
  if (!accepts_connections(place.address, place.port)) return nobody_answers(place, timeout);
  return text("MASTER_ADDR: ", place.address, ":", place.port, " accepts connections, but has not ",
              "answered for ", timeout.count(), " s; is rank 0 stopped?");
}

[[noreturn]] void refuse_store(const Place& place, std::chrono::seconds timeout,
                               const std::string& reason) {
  if (reason.find("EADDRINUSE") != std::string::npos) {
    throw Error(Exit::busy,
                text("MASTER_PORT: port ", place.port, " of this machine is in use, by ",
                     "another training perhaps; name another one"));
  }
  throw Error(Exit::busy, nobody_answers(place, timeout));
}

std::vector<std::uint8_t> store_bytes(const std::string& value) {
  return {value.begin(), value.end()};
}

}  // namespace

std::string engine_error(const std::exception& error) {
  const auto* const own = dynamic_cast<const c10::Error*>(&error);
  const std::string whole = own != nullptr ? own->what_without_backtrace() : error.what();
  return whole.substr(0, whole.find('\n'));
}

void Store::set(const std::string& key, const std::string& value) const {
  handle_->store->set(key, store_bytes(value));
}

bool Store::has(const std::string& key) const {
  return handle_->store->check({key});
}

std::vector<std::string> Store::get(const std::vector<std::string>& keys) const {
  std::vector<std::string> values;
  if (keys.empty()) return values;
  for (const auto& each : handle_->store->multiGet(keys))
    values.emplace_back(each.begin(), each.end());
  return values;
}

std::string Store::set_once(const std::string& key, const std::string& value) const {
  const auto now = handle_->store->compareSet(key, store_bytes(""), store_bytes(value));
  return {now.begin(), now.end()};
}

Store Store::under(const std::string& prefix) const {
  auto part = c10::make_intrusive<c10d::PrefixStore>(prefix, handle_->store);
  return Store(std::make_shared<StoreHandle>(StoreHandle{std::move(part)}));
}

Store open_store(const Place& place, bool serves, std::chrono::seconds timeout) {
  silence_engine();
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = serves;
  options.waitWorkers = false;  // the roll call waits, and says for whom
  options.timeout = timeout;
  if (serves) options.masterListenFd = place.listen_fd;
  constexpr std::chrono::seconds kForTheEngine{2};  // its own timeout has a better message
  const ConnectDeadline deadline([&] { return no_connection(place, timeout); },
                                 timeout + kForTheEngine);
  try {
    auto server = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    return Store(std::make_shared<StoreHandle>(StoreHandle{std::move(server)})).under("evenkeel");
  } catch (const std::exception& error) {
    refuse_store(place, timeout, error.what());
  }
}

}  // namespace evenkeel::comm
