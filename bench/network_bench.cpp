// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "bench/bench.h"
#include "network/fabric/compose.h"
#include "network/flow/flow.h"
#include "network/models/alpha_beta.h"

namespace orrery::bench {
namespace {

// The network alone: `ranks` devices go round a ring, each sending when its last message was released and the one
// before it has come.
template <class Model>
class BareRing final : network::MessageRecipient, InstantObserver, EventSink {
 public:
  BareRing(const network::Fabric& fabric, std::uint32_t ranks)
      : network_(engine_, fabric), sent_(ranks, 0), released_(ranks, 0), arrived_(ranks, 0) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      paths_.push_back(network_.path(DeviceId(rank), DeviceId((rank + 1) % ranks)));
    engine_.at(Time{}, *this, 0);
  }
  void run() { engine_.run(*this); }

 private:
  void on_event(std::uint64_t /*payload*/) override {
    for (std::uint32_t rank = 0; rank < paths_.size(); ++rank) touched_.push_back(rank);
  }
  void on_released(std::uint32_t rank) override {
    ++released_[rank];
    touched_.push_back(rank);
  }
  void on_arrived(std::uint32_t rank) override {
    const std::uint32_t to = rank + 1 == paths_.size() ? 0 : rank + 1;
    ++arrived_[to];
    touched_.push_back(to);
  }
  void decide() override {
    for (const std::uint32_t rank : touched_) {
      if (sent_[rank] == 2 * (paths_.size() - 1) || released_[rank] < sent_[rank] || arrived_[rank] < sent_[rank])
        continue;
      ++sent_[rank];
      network_.start({paths_[rank], Bytes(65'536), this, rank});
    }
    touched_.clear();
  }
  void settle() override { network_.settle(); }

  Engine engine_;
  Model network_;
  std::vector<network::PathId> paths_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> released_;
  std::vector<std::uint32_t> arrived_;
  std::vector<std::uint32_t> touched_;
};

template <class Model>
double bare_ring_rate(const network::Fabric& fabric, std::uint32_t ranks) {
  const double seconds = best_seconds(3, [&] { BareRing<Model>(fabric, ranks).run(); });
  return 2.0 * ranks * (ranks - 1) / seconds;
}

// Every rank sends to every other in shifted order, `window` messages at a time, of sizes that differ by up to 10 %.
class AllToAll final : network::MessageRecipient, InstantObserver, EventSink {
 public:
  AllToAll(const network::Fabric& fabric, std::uint32_t ranks, std::uint32_t window)
      : network_(engine_, fabric), next_(ranks, 1), window_(window) {
    engine_.at(Time{}, *this, 0);
  }
  void run() { engine_.run(*this); }

 private:
  void on_event(std::uint64_t /*payload*/) override {
    for (std::uint32_t rank = 0; rank < next_.size(); ++rank) touched_.insert(touched_.end(), window_, rank);
  }
  void on_released(std::uint32_t rank) override { touched_.push_back(rank); }
  void on_arrived(std::uint32_t /*rank*/) override {}
  void decide() override {
    for (const std::uint32_t rank : touched_) {
      if (next_[rank] == next_.size()) continue;
      const auto to = (rank + next_[rank]++) % static_cast<std::uint32_t>(next_.size());
      network_.start({network_.path(DeviceId(rank), DeviceId(to)),
                      Bytes(1'000'000 + static_cast<std::int64_t>(random_() % 100'000)), this, rank});
    }
    touched_.clear();
  }
  void settle() override { network_.settle(); }

  Engine engine_;
  network::FlowNetwork network_;
  std::vector<std::uint32_t> next_;
  std::uint32_t window_;
  std::vector<std::uint32_t> touched_;
  std::minstd_rand random_{1};
};

network::Fabric fabric_of(std::string_view topology, std::uint32_t ranks) {
  const std::vector<network::DimensionSpec> dimensions = {
      {network::topology_named(topology), ranks, Bandwidth(25'000'000'000), Duration(1'000'000), ""}};
  return network::compose(dimensions);
}

void measure_all_to_all(std::uint32_t window, double heap_rate) {
  constexpr std::uint32_t kRanks = 64;
  const network::Fabric fabric = fabric_of("switch", kRanks);
  const double seconds = best_seconds(3, [&] { AllToAll(fabric, kRanks, window).run(); });
  const double rate = kRanks * (kRanks - 1) / seconds;
  fmt::print(
      "all-to-all of unequal sizes, {} ranks, {} peers at a time, flow: {:.3f} M messages/s; of the bare heap's "
      "rate {:.5f}\n",
      kRanks, window, rate * 1e-6, rate / heap_rate);
}

}  // namespace

void measure_networks(double heap_rate) {
  constexpr std::uint32_t kRanks = 1024;
  const network::Fabric fabric = fabric_of("ring", kRanks);
  print_rates(fmt::format("ring, {} ranks, network only", kRanks),
              bare_ring_rate<network::AlphaBetaNetwork>(fabric, kRanks),
              bare_ring_rate<network::FlowNetwork>(fabric, kRanks), heap_rate);
  for (const std::uint32_t window : {8U, 63U}) measure_all_to_all(window, heap_rate);
}

}  // namespace orrery::bench
