// SPDX-License-Identifier: MIT
// The alpha-beta model: a message takes bytes / narrowest link, then the latencies of its route. Nothing is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "network/path_table.h"

namespace orrery::network {

// Whether the busy time of links is recorded: exact, a few nanoseconds for every link a message crosses.
enum class BusyTime : std::uint8_t { kRecord, kOff };

class AlphaBetaNetwork final : public PathNetwork {
 public:
  // `engine`, `fabric` and `listener` outlive the network.
  AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy = BusyTime::kRecord);

  void start(PathId path, Bytes bytes, std::uint64_t token) override;
  std::optional<Time> start_predicted(PathId path, Bytes bytes, std::uint64_t token) override;
  void start_group(PathId path, std::uint64_t token) override;
  Duration count_private(PathId path, Bytes bytes, std::uint32_t messages) override;
  void split(std::span<const LinkSplit> links) override;
  void settle() override {}
  std::vector<LinkUsage> link_usage() const override;

 private:
  struct Activity {
    Time until;  // end of the latest transfer so far
    Duration busy{};
  };

  Duration book(PathId path, Bytes bytes);
  void record_busy(LinkId link, Duration transfer);

  std::vector<Activity> activity_;  // by link; empty if busy time is not recorded
};

}  // namespace orrery::network
