// The flow model: messages are fluids that share every link of their route, max-min fair (network/max_min.h), from
// first to last byte. Rates are solved again when messages come and go: all changes of an instant at once, and only
// what they can reach (network/flow_solver.h). A message that shares nothing takes what it takes in the alpha-beta
// model, to the picosecond.
//
// Rates are whole bytes per second and what is left is counted in bytes * picoseconds / second, exactly; so results
// depend neither on the order of messages nor on how often rates are solved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.h"
#include "network/fabric.h"
#include "network/flow_components.h"
#include "network/flow_graph.h"
#include "network/message_sinks.h"
#include "network/network.h"
#include "network/path_table.h"
#include "network/solo_flows.h"

namespace orrery {

class FlowNetwork final : public Network, private EventSink {
 public:
  // `engine`, `fabric` and `listener` outlive the network.
  FlowNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, Resolve resolve = Resolve::kReached);
  // Pending events point into it.
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  PathId path(DeviceId from, DeviceId to) override { return paths_.intern(from, to); }
  PathId class_path(std::span<const LinkShare> shares, Duration latency) override {
    return paths_.add_class(shares, latency);
  }
  void start(PathId path, Bytes bytes, std::uint64_t token) override { start(path, bytes, token, false); }
  std::optional<Time> start_foretold(PathId path, Bytes bytes, std::uint64_t token) override {
    start(path, bytes, token, true);
    return std::nullopt;
  }
  void start_group(std::span<const LinkShare> shares, Bytes busiest, Duration latency, std::uint64_t token) override;
  Duration count_private(PathId path, Bytes bytes, std::uint32_t messages) override;
  void split(std::span<const LinkSplit> links) override;
  void settle() override;
  std::vector<LinkUsage> link_usage() const override;

 private:
  // Payloads below are components.
  static constexpr std::uint64_t kSolo = std::uint64_t{1} << 32;

  struct StartedGroup {
    std::vector<LinkShare> shares;
    Bytes busiest{0};
    Duration latency{};
    std::uint64_t token = 0;
  };
  struct Ended {
    std::uint64_t token;
    Duration latency;
  };

  void start(PathId path, Bytes bytes, std::uint64_t token, bool may_foretell);
  void on_event(std::uint64_t payload) override;  // a component, or a flow of solos_
  std::uint32_t create(PathId path, Bytes bytes, std::uint64_t token);
  void cross(std::uint32_t flow, PathId path);
  void split_started();
  void join(std::uint32_t flow);
  void share_links(std::uint32_t flow);
  void remove(std::uint32_t flow);
  void report_end(const Ended& message);

  Engine& engine_;
  MessageListener& listener_;
  MessageEvents events_;
  PathTable paths_;
  FlowGraph graph_;
  FlowComponents components_;
  SoloFlows solos_;
  Resolve resolve_;
  std::vector<SoloFlow> started_;             // messages of this instant, on no link yet,
  std::vector<StartedGroup> started_groups_;  // and groups
  std::vector<std::uint32_t> ending_;         // scratch of on_event()
  std::vector<Ended> ended_;                  // scratch of on_event()
};

}  // namespace orrery
