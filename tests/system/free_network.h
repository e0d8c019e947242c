// A network on which everything is there at once, for tests of what computation alone takes.
#pragma once

#include "core/engine.h"
#include "network/fabric/fabric.h"
#include "network/network.h"

namespace orrery::test {

class FreeNetwork final : public Network, private EventSink {
 public:
  FreeNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener)
      : engine_(engine), links_(fabric.link_count()), listener_(listener) {}

  PathId path(DeviceId, DeviceId) override { return {}; }
  PathId class_path(std::span<const LinkShare>, Duration) override { return {}; }
  void start(PathId, Bytes, std::uint64_t token) override { engine_.at(engine_.now(), *this, token); }
  PathId group_path(std::span<const LinkLoad>, Duration) override { return {}; }
  void start_group(PathId, std::uint64_t token) override { engine_.at(engine_.now(), *this, token); }
  Duration count_private(PathId, Bytes, std::uint32_t) override { return Duration::zero(); }
  void split(std::span<const LinkSplit>) override {}
  void settle() override {}
  std::vector<LinkUsage> link_usage() const override { return std::vector<LinkUsage>(links_); }

 private:
  void on_event(std::uint64_t token) override {
    listener_.on_released(token);
    listener_.on_arrived(token);
  }

  Engine& engine_;
  const std::size_t links_;
  MessageListener& listener_;
};

}  // namespace orrery::test
