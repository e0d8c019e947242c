// SPDX-License-Identifier: MIT
// The alpha-beta model: a message takes bytes / narrowest link, then the latencies of its route. Nothing is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::network {

// Recording of the busy time of links: exact, a few nanoseconds for every link a message crosses.
enum class BusyTime : std::uint8_t { kRecord, kOff };

class AlphaBetaNetwork : public Network {
 public:
  // `engine` and `fabric` outlive the network.
  AlphaBetaNetwork(Engine& engine, const Fabric& fabric, BusyTime busy = BusyTime::kRecord);

  Time start(const Message& message) override;
  Duration count_private(PathId path, Bytes bytes, std::uint64_t messages) override;
  bool count_groups(PathId path, std::uint64_t groups) override;
  std::optional<Duration> time_alone(PathId path, Bytes bytes) override;
  void split(std::span<const LinkSplit> links) override;
  void settle() override {}
  PagedArray<LinkUsage> usage() const override;

 private:
  struct Activity {
    Time until;  // end of the latest transfer so far
    Duration busy{};
  };

  Duration book(PathId path, Bytes bytes);
  Duration book_group(PathId path);
  Duration transfer_of(const LinkLoad& load) const;
  void record_busy(LinkId link, Duration transfer);

  std::vector<Activity> activity_;  // by link; empty if busy time is not recorded
};

}  // namespace orrery::network
