// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/join.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/comm/engine.h"
#include "evenkeel/comm/engine_gloo.h"
#include "evenkeel/comm/engine_nccl.h"
#include "evenkeel/comm/exchange.h"
#include "evenkeel/comm/network.h"
#include "evenkeel/comm/rendezvous.h"
#include "evenkeel/comm/roll_call.h"
#include "evenkeel/comm/staged_exchange.h"
#include "evenkeel/comm/store.h"
#include "evenkeel/comm/watch.h"

namespace evenkeel::comm {

namespace {

/// Store, watch and exchange of a rank. Destroyed in the order of connections: the watch ends
/// before the store that it reads.
class JoinedRanks : public Engine {
 public:
  JoinedRanks(const Place& place, const JoinOptions& options, const Facts& facts);

  int rank() const override { return place_.rank; }
  int ranks() const override { return place_.ranks; }
  Placement placement() const override { return placement_; }

  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part) override {
    call("", [&] {
      with_exchange_of(whole, [&](auto& by) { by.reduce_scatter(whole, bounds, part); });
    });
  }
  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) override {
    call("", [&] { with_exchange_of(whole, [&](auto& by) { by.all_gather(whole, bounds); }); });
  }
  void engine_all_reduce(const at::Tensor& tensor) override;
  void engine_reduce_scatter(const at::Tensor& whole, const at::Tensor& part) override;
  void broadcast(const at::Tensor& tensor, int from) override;
  void barrier(const char* where) override {
    call(where, [&] { backend_->barrier()->wait(); });
  }
  void report(const Position& position) override { watch_->report(position); }
  void set_activity(const char* activity) override { watch_->set_activity(activity); }
  void set_run_folder(const std::string& folder) override { watch_->set_run_folder(folder); }
  std::string name(int rank) const override { return watch_->name(rank); }
  bool fail(Exit exit, const std::string& message) override;
  void leave() override;

 private:
  /// A collective call. An error of the engine ends the process.
  template <typename Body>
  void call(const char* where, const Body& body) {
    watch_->begin_call(where);
    try {
      body();
    } catch (const std::bad_alloc&) {
      throw;  // an error of this rank, which ends all; no rank is lost
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      watch_->end_after_engine_error(engine_error(error));
    }
    watch_->end_call();
  }
  /// Calls `body` with the exchange for the device of a tensor.
  template <typename Body>
  void with_exchange_of(const at::Tensor& tensor, const Body& body) {
    if (tensor.is_cpu()) return body(*exchange_);
    EK_ASSERT(direct_ || staged_);
    direct_ ? body(*direct_) : body(*staged_);
  }
  void form(const JoinOptions& options);
  void connect_device(const JoinOptions& options, DeviceEngine engine, int per_host,
                      std::chrono::seconds timeout);

  Place place_;
  Placement placement_;
  Store connection_;
  Rendezvous rendezvous_;
  Store store_;  // the part of this start
  std::unique_ptr<Watch> watch_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::unique_ptr<Exchange> exchange_;      // of CPU memory
  std::unique_ptr<Exchange> direct_;        // of GPU memory, by NCCL
  std::unique_ptr<StagedExchange> staged_;  // of GPU memory, by exchange_
};

Member this_member(const Place& place, const JoinOptions& options, const Facts& facts) {
  const auto route = route_to(place.address, place.port);
  return {.ranks = place.ranks,
          .host = host_name(),
          .process = ::getpid(),
          .address = route.local,
          .master = route.remote,
          .gpu = options.device.gpu,
          .cores = CpuFeatures::detect().core_numbers,
          .facts = facts};
}

void check_interface(const std::string& interface) {
  const auto known = interfaces();
  if (interface == "auto" || std::find(known.begin(), known.end(), interface) != known.end())
    return;
  std::string list;
  for (const auto& each : known) list += (list.empty() ? "" : ", ") + each;
  throw Error(Exit::usage, text("distributed.interface: no network interface with an address is "
                                "named \"",
                                interface, "\"; known: ", list));
}

/// Ranks on the machine of `rank`, by the names of machines.
int ranks_on_host(const std::vector<Member>& members, int rank) {
  const auto& host = members[static_cast<std::size_t>(rank)].host;
  return static_cast<int>(std::count_if(members.begin(), members.end(),
                                        [&](const Member& each) { return each.host == host; }));
}

JoinedRanks::JoinedRanks(const Place& place, const JoinOptions& options, const Facts& facts)
    : place_(place),
      connection_(
          open_store(place, place.rank == 0 && !place.has_agent_store, options.connect_timeout)),
      rendezvous_(connection_, place, options.connect_timeout),
      store_(rendezvous_.part_of(connection_)) {
  Place client = place;
  client.listen_fd.reset();
  watch_ = std::make_unique<Watch>(
      rendezvous_.part_of(open_store(client, /*serves=*/false, options.connect_timeout)), place,
      WatchLimits{.heartbeat = static_cast<double>(options.heartbeat_timeout.count()),
                  .collective = static_cast<double>(options.collective_timeout.count())});
  try {
    claim_rank(store_, place_, this_member(place_, options, facts));
    watch_->begin_heartbeats();  // not earlier: a stranger must not publish those of a member
    form(options);
  } catch (const NotAMember&) {
    throw;  // the members continue
  } catch (const Error& error) {
    if (!fail(error.exit(), error.what())) ::_exit(static_cast<int>(error.exit()));
    throw;
  } catch (const std::exception& error) {  // of store or engine: a rank is lost
    watch_->end_after_engine_error(engine_error(error));
  }
}

void JoinedRanks::form(const JoinOptions& options) {
  const auto members = roll_call(
      store_, place_, options.connect_timeout,
      [this](int rank, const Member& member) {
        watch_->set_member(rank, member_name(rank, member), member.host);
      },
      [this](int rank) {
        if (place_.rank == 0) rendezvous_.answer(rank);
      });
  // Not earlier: without the store of a rank 0 that ended, a late rank would wait for its timeout.
  check_interface(options.interface);
  const auto engine =
      device_engine(members, place_.rank, options.device, options.backend, !nccl_version().empty());
  placement_.launcher = launcher_name(place_.launcher);
  placement_.local_ranks =
      place_.local_ranks > 0 ? place_.local_ranks : ranks_on_host(members, place_.rank);
  placement_.ranks_on_cores = std::max(1, ranks_on_cores(members, place_.rank));
  for (const auto& each : members) placement_.hosts.push_back(each.host);
  const bool is_gpu = !options.device.device.is_cpu();
  placement_.ranks_on_device =
      is_gpu ? ranks_on_device(members, place_.rank) : placement_.local_ranks;
  const bool is_auto = options.interface == "auto";
  const auto address = listening_address(members, place_.rank);
  const int per_host = ranks_per_host(placement_.hosts);
  placement_.network = text(engine == DeviceEngine::nccl ? "nccl, " : "", "gloo over ",
                            is_auto ? interface_of(address) : options.interface,
                            per_host > 1 ? " in two levels" : "");
  // The watch is faster; the engine's timeout is for the case that all ranks wait in the engine.
  const auto timeout =
      std::max(options.connect_timeout, options.collective_timeout) + 2 * options.heartbeat_timeout;
  backend_ = connect_gloo(store_, place_.rank, place_.ranks, address,
                          is_auto ? "" : options.interface, timeout);
  exchange_ = std::make_unique<Exchange>(backend_, per_host);
  connect_device(options, engine, per_host, timeout);
}

/// Sets the exchange of GPU memory.
void JoinedRanks::connect_device(const JoinOptions& options, DeviceEngine engine, int per_host,
                                 std::chrono::seconds timeout) {
  if (engine == DeviceEngine::host_memory) staged_ = std::make_unique<StagedExchange>(*exchange_);
  if (engine != DeviceEngine::nccl) return;
  constexpr std::int64_t kChunkBytes = std::int64_t{64} << 20;  // 8 MiB a rank on 8 GPUs
  const bool is_auto = options.interface == "auto";
  if (!is_auto) ::setenv("NCCL_SOCKET_IFNAME", ("=" + options.interface).c_str(), 0);
  const auto nccl = connect_nccl(*nccl_library(), store_,
                                 {.rank = place_.rank,
                                  .ranks = place_.ranks,
                                  .device = options.device.device,
                                  .timeout = timeout});
  direct_ = std::make_unique<Exchange>(
      nccl, per_host, LevelOptions{.chunk_bytes = kChunkBytes, .sum = RowSum::tensor_operations});
}

void JoinedRanks::engine_all_reduce(const at::Tensor& tensor) {
  call("", [&] {
    std::vector<at::Tensor> one{tensor};
    backend_->allreduce(one)->wait();
  });
}

void JoinedRanks::engine_reduce_scatter(const at::Tensor& whole, const at::Tensor& part) {
  call("", [&] {
    at::Tensor in = whole, out = part;
    backend_->_reduce_scatter_base(out, in)->wait();
  });
}

void JoinedRanks::broadcast(const at::Tensor& tensor, int from) {
  call("", [&] {
    std::vector<at::Tensor> one{tensor.cpu()};  // itself in CPU memory
    c10d::BroadcastOptions options;
    options.rootRank = from;
    backend_->broadcast(one, options)->wait();
    if (!tensor.is_cpu()) tensor.copy_(one.front());
  });
}

bool JoinedRanks::fail(Exit exit, const std::string& message) {
  const auto own = text(place_.rank, " ", message);
  bool is_first = true;
  try {
    is_first = store_.set_once("failure", own) == own;
  } catch (const std::exception&) {  // without the store nobody can say who is the first
    return true;
  }
  watch_->publish_exit(exit);
  return is_first;
}

void JoinedRanks::leave() {
  barrier("the end of the training");
  watch_->leave();
}

}  // namespace

Group join(const Place& place, const JoinOptions& options, const Facts& facts) {
  if (place.ranks == 1) return Group();
  return Group(std::make_unique<JoinedRanks>(place, options, facts));
}

}  // namespace evenkeel::comm
