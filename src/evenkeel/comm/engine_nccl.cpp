// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/engine_nccl.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/connect_deadline.h"

namespace evenkeel::comm {

namespace {

using NcclClock = std::chrono::steady_clock;

/// \throws std::runtime_error: "NCCL: ncclSend: unhandled system error"
void check_nccl(const NcclLibrary& library, int result, const char* call) {
  if (result == NcclLibrary::kSuccess || result == NcclLibrary::kInProgress) return;
  throw std::runtime_error(text("NCCL: ", call, ": ", library.error_text(result)));
}

/// The communicator of this process. Its destructor does not wait for other ranks.
class NcclConnection {
 public:
  NcclConnection(const NcclLibrary& functions, const Store& store, const NcclOptions& options)
      : library(functions) {
    constexpr auto kKey = "nccl_id";
    NcclLibrary::UniqueId id{};
    if (options.rank == 0) {
      check_nccl(library, library.get_unique_id(&id), "ncclGetUniqueId");
      store.set(kKey, std::string(id.bytes, sizeof id.bytes));
    }
    const auto value = store.get({kKey}).front();
    EK_ASSERT(value.size() == sizeof id.bytes);
    std::memcpy(id.bytes, value.data(), sizeof id.bytes);
    const ConnectDeadline deadline(
        [&options] {
          return text("NCCL has not connected ", options.ranks, " ranks for ",
                      options.timeout.count(), " s; NCCL_DEBUG=INFO says more, and ",
                      "distributed.backend = \"gloo\" avoids NCCL");
        },
        options.timeout);
    const int result = library.init_rank(&communicator, options.ranks, id, options.rank);
    check_nccl(library, result, "ncclCommInitRank");
  }
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection() {
    if (communicator != nullptr) library.abort(communicator);
  }

  /// \throws std::runtime_error if a connection broke
  void check() const {
    int result = NcclLibrary::kSuccess;
    check_nccl(library, library.async_error(communicator, &result), "ncclCommGetAsyncError");
    check_nccl(library, result, "a connection");
  }

  NcclLibrary library;
  NcclLibrary::Communicator communicator = nullptr;
};

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

/// The sends and receives of a group, which the GPU does in the order of its stream.
class NcclWork : public c10d::Work {
 public:
  NcclWork(std::shared_ptr<NcclConnection> connection, const NcclOptions& options)
      : connection_(std::move(connection)), timeout_(options.timeout) {
    if (options.device.is_cpu()) return;  // of a test: is done
    event_.emplace(options.device.type());
    event_->record(current_stream(options.device));
  }

  bool isCompleted() override { return !event_ || event_->query(); }

  /// \throws std::runtime_error if a connection broke, or after the timeout. A kernel of NCCL waits
  ///         for ever for a rank that does not come
  bool wait(std::chrono::milliseconds /*timeout*/) override {
    constexpr std::chrono::milliseconds kAwake{2}, kBetweenChecks{100};
    constexpr std::chrono::microseconds kPause{50};
    const auto begin = NcclClock::now();
    auto checked = begin;
    while (!isCompleted()) {
      const auto now = NcclClock::now();
      if (now - begin < kAwake) {
        std::this_thread::yield();
        continue;
      }
      if (now - begin > timeout_)
        throw std::runtime_error(text("NCCL: nothing arrived for ", timeout_.count(), " s"));
      if (now - checked > kBetweenChecks) connection_->check(), checked = now;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  }

 private:
  std::shared_ptr<NcclConnection> connection_;
  std::chrono::seconds timeout_;
  std::optional<c10::Event> event_;  // nullopt: CPU memory
};

/// NCCL as a backend of c10d, as far as ExchangeLevel uses it.
class NcclBackend : public c10d::Backend {
 public:
  NcclBackend(const NcclLibrary& library, const Store& store, const NcclOptions& options)
      : Backend(options.rank, options.ranks),
        options_(options),
        connection_(std::make_shared<NcclConnection>(library, store, options)) {}

  const std::string getBackendName() const override { return "nccl"; }
  bool supportsCoalescing() const override { return true; }

  void startCoalescing() override {
    check_nccl(connection_->library, connection_->library.group_start(), "ncclGroupStart");
  }

  c10::intrusive_ptr<c10d::Work> endCoalescing() override {
    check_nccl(connection_->library, connection_->library.group_end(), "ncclGroupEnd");
    return c10::make_intrusive<NcclWork>(connection_, options_);
  }

  /// A part of a group. \return no work of its own
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to,
                                      int /*tag*/) override {
    const auto& values = checked(tensors);
    const auto result =
        connection_->library.send(values.const_data_ptr(), values.nbytes(), NcclLibrary::kBytes, to,
                                  connection_->communicator, stream());
    check_nccl(connection_->library, result, "ncclSend");
    return {};
  }

  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                      int /*tag*/) override {
    const auto& values = checked(tensors);
    const auto result = connection_->library.receive(values.mutable_data_ptr(), values.nbytes(),
                                                     NcclLibrary::kBytes, from,
                                                     connection_->communicator, stream());
    check_nccl(connection_->library, result, "ncclRecv");
    return {};
  }

 private:
  const at::Tensor& checked(const std::vector<at::Tensor>& tensors) const {
    EK_ASSERT(tensors.size() == 1 && tensors.front().is_contiguous());
    EK_ASSERT(tensors.front().device() == options_.device);
    return tensors.front();
  }

  void* stream() const {
    if (options_.device.is_cpu()) return nullptr;
    return current_stream(options_.device).native_handle();
  }

  NcclOptions options_;
  std::shared_ptr<NcclConnection> connection_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> connect_nccl(const NcclLibrary& library, const Store& store,
                                               const NcclOptions& options) {
  const c10::DeviceGuard guard(options.device);  // NCCL takes the current one
  return c10::make_intrusive<NcclBackend>(library, store, options);
}

}  // namespace evenkeel::comm
