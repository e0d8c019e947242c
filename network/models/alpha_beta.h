// The alpha-beta model: a message takes bytes / narrowest link, then the latencies of its route. Nothing is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "network/path_table.h"

namespace orrery {

// Whether the busy time of links is recorded: exact, a few nanoseconds for every link a message crosses.
enum class BusyTime : std::uint8_t { kRecord, kOff };

class AlphaBetaNetwork final : public Network {
 public:
  // `engine`, `fabric` and `listener` outlive the network.
  AlphaBetaNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, BusyTime busy = BusyTime::kRecord);
  // Pending events point into it.
  AlphaBetaNetwork(const AlphaBetaNetwork&) = delete;
  AlphaBetaNetwork& operator=(const AlphaBetaNetwork&) = delete;

  PathId path(DeviceId from, DeviceId to) override { return paths_.intern(from, to); }
  PathId class_path(std::span<const LinkShare> shares, Duration latency) override {
    return paths_.add_class(shares, latency);
  }
  void start(PathId path, Bytes bytes, std::uint64_t token) override;
  std::optional<Time> start_predicted(PathId path, Bytes bytes, std::uint64_t token) override;
  PathId group_path(std::span<const LinkLoad> loads, Duration latency) override {
    return paths_.add_group(loads, latency);
  }
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

  Engine& engine_;
  const Fabric& fabric_;
  MessageEvents events_;
  PathTable paths_;
  std::vector<Activity> activity_;  // by link; empty if busy time is not recorded
};

}  // namespace orrery
