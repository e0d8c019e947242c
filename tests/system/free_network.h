// SPDX-License-Identifier: MIT
// A network on which everything is there at once, for tests of what computation alone takes.
#pragma once

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::test {

class FreeNetwork final : public network::Network, private EventSink {
 public:
  FreeNetwork(Engine& engine, const network::Fabric& fabric, network::MessageListener& listener)
      : engine_(engine), links_(fabric.link_count()), listener_(listener) {}

  network::PathId path(DeviceId, DeviceId) override { return {}; }
  network::PathId class_path(std::span<const network::LinkShare>, Duration) override { return {}; }
  void start(network::PathId, Bytes, std::uint64_t token) override { engine_.at(engine_.now(), *this, token); }
  network::PathId group_path(std::span<const network::LinkLoad>, Duration) override { return {}; }
  void start_group(network::PathId, std::uint64_t token) override { engine_.at(engine_.now(), *this, token); }
  Duration count_private(network::PathId, Bytes, std::uint32_t) override { return Duration::zero(); }
  void split(std::span<const network::LinkSplit>) override {}
  void settle() override {}
  std::vector<network::LinkUsage> link_usage() const override { return std::vector<network::LinkUsage>(links_); }

 private:
  void on_event(std::uint64_t token) override {
    listener_.on_released(token);
    listener_.on_arrived(token);
  }

  Engine& engine_;
  const std::size_t links_;
  network::MessageListener& listener_;
};

}  // namespace orrery::test
