// SPDX-License-Identifier: MIT
// A network with nothing above it: sends what a test asks for and notes what the network reports.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "network/fabric/compose.h"
#include "network/network.h"

namespace orrery::test {

using Notice = std::tuple<std::int64_t, std::uint32_t, std::string>;  // picoseconds, id of the message, what

template <class Model>
struct Probe final : network::MessageRecipient, InstantObserver, EventSink {
  Engine engine;
  network::Fabric fabric;
  Model network;
  std::vector<Notice> notices;
  std::vector<std::function<void()>> actions;
  std::function<void(std::uint32_t)> when_released = [](std::uint32_t) {};
  std::function<void()> when_decided = [] {};
  std::map<std::uint32_t, network::MessagePart> parts;  // by id: what it comes apart into, which is itself

  explicit Probe(const std::vector<network::DimensionSpec>& dimensions)
      : fabric(network::compose(dimensions)), network(engine, fabric) {}
  explicit Probe(network::Fabric made) : fabric(std::move(made)), network(engine, fabric) {}

  void on_released(std::uint32_t id) override {
    notices.emplace_back(now(), id, "released");
    when_released(id);
  }
  void on_arrived(std::uint32_t id) override { notices.emplace_back(now(), id, "arrived"); }
  void on_event(std::uint64_t action) override { actions[action](); }
  void decide() override { when_decided(); }
  std::span<const network::MessagePart> parts_of(std::uint32_t id) override { return {&parts.at(id), 1}; }
  network::MessagePlace place_of(std::uint32_t id) const override { return {id}; }
  void settle() override { network.settle(); }
  std::int64_t now() const { return engine.now().time_since_epoch().count(); }

  void at(std::int64_t picoseconds, std::function<void()> action) {
    actions.push_back(std::move(action));
    engine.at(Time(Duration(picoseconds)), *this, actions.size() - 1);
  }
  void send(std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint32_t id) {
    parts[id] = {id, network.path(DeviceId(from), DeviceId(to))};
    network.start({parts[id].path, Bytes(bytes), this, id});
  }
  void send_group(const std::vector<network::LinkLoad>& loads, std::int64_t latency, std::uint32_t id) {
    parts[id] = {id, network.group_path(loads, Duration(latency))};
    network.start({parts[id].path, Bytes(0), this, id});
  }
  // What was reported, sorted, so that runs can be compared: the order within an instant carries no meaning.
  std::vector<Notice> run() {
    engine.run(*this);
    std::ranges::sort(notices);
    return notices;
  }
  std::int64_t released(std::uint32_t id) const { return when("released", id); }
  std::int64_t arrived(std::uint32_t id) const { return when("arrived", id); }

 private:
  std::int64_t when(std::string_view what, std::uint32_t id) const {
    for (const auto& [time, of, happened] : notices)
      if (of == id && happened == what) return time;
    return -1;
  }
};

inline network::DimensionSpec dimension(std::string_view topology, std::uint32_t size, std::int64_t bandwidth,
                                        std::int64_t latency) {
  return {network::topology_named(topology), size, Bandwidth(bandwidth), Duration(latency), {}};
}

}  // namespace orrery::test
