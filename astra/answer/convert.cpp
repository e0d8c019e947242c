// SPDX-License-Identifier: MIT
#include "astra/answer/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"

namespace orrery::astra {
namespace {

// Custom collectives that have algorithms.
constexpr std::size_t kOperations = 4;

std::string_view operation_of(CommKind comm) { return orrery::name_of(collective_kind(comm)); }

std::string quoted(const std::string& text) { return dump_json(nlohmann::json(text)); }

// Without an exponent, which quantities do not have.
std::string plain(double number) {
  std::string text = fmt::format("{:.9f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string dimension_text(const Dimension& dimension) {
  constexpr std::array<std::string_view, 3> kNames = {"ring", "switch", "fully-connected"};
  return fmt::format("    - {{topology: {}, size: {}, bandwidth: {} GiB/s, latency: {} ns}}\n",
                     kNames[static_cast<std::size_t>(dimension.topology)], dimension.size, plain(dimension.gigabytes),
                     plain(dimension.latency));
}

// Writer of the experiment, which collects the differences on the way.
class Writer {
 public:
  Writer(const Inputs& inputs, const Job& job, const std::map<CommKind, CustomUse>& custom, const PathOf& path_of)
      : inputs_(inputs), system_(inputs.system), custom_(custom), path_of_(path_of) {
    for (const Program& program : job.programs)
      for (const Node& node : program.nodes) {
        kinds_.insert(node.kind);
        if (node.kind == NodeKind::kCollective) comms_.insert(node.comm);
      }
  }

  std::string text(const std::string& prefix, const std::string& groups, const std::vector<std::string>& notes) {
    const std::string body = cluster() + workload(prefix, groups) + collectives() + network() + memory();
    add_differences();
    std::string head = fmt::format(
        "# Written by `orrery astra-sim --convert` from ASTRA-sim's files\n"
        "#   system {}\n#   network {}\n#\n# What differs in meaning from ASTRA-sim:\n",
        quoted(system_.file), quoted(inputs_.network.file));
    for (const std::string& difference : differences_) head += fmt::format("# - {}\n", difference);
    if (!notes.empty()) head += "# Where ASTRA-sim's own answer departs from its network file:\n";
    for (const std::string& note : notes) head += fmt::format("# - {}\n", note);
    head += fmt::format(
        "# The model `{}` is the nearest to ASTRA-sim's backend; `network: {{model: flow}}` shares links as they "
        "are.\n",
        model());
    return head + body;
  }

 private:
  std::string cluster() const {
    const bool is_roofline = system_.roofline && system_.peak > 0;
    const std::string peak = is_roofline ? plain(system_.peak / 1e12) : "1000";
    const std::string bandwidth = system_.memory_bandwidth > 0 ? plain(system_.memory_bandwidth) : "1000";
    std::string text = fmt::format(
        "cluster:\n  device:\n    name: astra-sim-npu\n    peak: {{bf16: {} TFLOP/s}}{}\n"
        "    memory: {{capacity: 1 TB, bandwidth: {} GB/s}}  # capacity: any\n"
        "    compute: {{gemm: 100 %, gemm_launch: 0 us, memory: 100 %, launch: 0 us}}\n  dims:\n",
        peak, is_roofline ? "" : "  # not used: the roofline is off", bandwidth);
    for (const Dimension& dimension : inputs_.network.dimensions) text += dimension_text(dimension);
    return text;
  }

  std::string workload(const std::string& prefix, const std::string& groups) const {
    std::string text = fmt::format("workload:\n  chakra:\n    prefix: {}\n", quoted(prefix));
    if (!groups.empty()) text += fmt::format("    groups: {}\n", quoted(groups));
    if (system_.roofline && kinds_.contains(NodeKind::kCompute)) text += "    compute: roofline\n";
    return text;
  }

  std::string collectives() {
    std::string lists;
    bool flat = false;
    for (std::size_t comm = 0; comm < kOperations; ++comm) {
      const Implementation& implementation = system_.implementations[comm];
      if (!comms_.contains(static_cast<CommKind>(comm))) continue;
      if (const auto custom = custom_.find(static_cast<CommKind>(comm)); custom != custom_.end()) {
        lists += fmt::format("    {}: [{}]\n", operation_of(static_cast<CommKind>(comm)),
                             files(operation_of(static_cast<CommKind>(comm)), custom->second));
        continue;
      }
      const bool is_flat = !implementation.dimensions.empty() && implementation.dimensions.front().flat;
      flat |= is_flat && inputs_.network.dimensions.size() > 1;
      std::string names;
      for (std::size_t d = 0; d < (is_flat ? 1 : inputs_.network.dimensions.size()); ++d)
        names += (d == 0 ? "" : ", ") + algorithm(static_cast<CommKind>(comm), d);
      lists += fmt::format("    {}: [{}]\n", operation_of(static_cast<CommKind>(comm)), names);
    }
    std::string text = "collectives:\n  library: fixed\n";
    if (flat) text += fmt::format("  logical_dimensions: [{}]\n", inputs_.network.npus);
    if (!lists.empty()) text += "  algorithms:\n" + lists;
    if (const std::uint64_t size = common_size(custom_)) text += fmt::format("  algorithm_size: {} B\n", size);
    // Custom schedules are not cut into chunks there.
    const bool all_custom = std::ranges::all_of(comms_, [&](CommKind comm) { return custom_.contains(comm); });
    if (all_custom) return text;
    if (system_.splits > 1 && !custom_.empty())
      differences_.insert("chunks: they cut custom schedules, too, which run as one whole in ASTRA-sim");
    if (system_.splits > 1) text += fmt::format("  chunks: {}\n", std::min<std::uint64_t>(system_.splits, 65'536));
    if (system_.active_chunks > 1)
      text += fmt::format("  active_chunks: {}\n", std::min<std::uint32_t>(system_.active_chunks, 65'536));
    return text;
  }

  // Files of custom schedules.
  std::string files(std::string_view operation, const CustomUse& use) {
    std::string names;
    for (const std::string& prefix : prefixes_of(use)) names += (names.empty() ? "" : ", ") + quoted(path_of_(prefix));
    if (common_size(custom_) == 0)
      differences_.insert(fmt::format(
          "{}: ASTRA-sim sends the messages of its custom schedule as they are, whatever the size of a call; here they "
          "grow with it (`collectives.algorithm_size`: the size that they are for)",
          operation));
    if (use.computes)
      differences_.insert(fmt::format("{}: computations of its custom schedule take no time", operation));
    return names;
  }

  std::string algorithm(CommKind comm, std::size_t dimension) {
    const Implementation& implementation = system_.implementations[static_cast<std::size_t>(comm)];
    const std::string operation(operation_of(comm));
    if (dimension >= implementation.dimensions.size()) {
      differences_.insert(
          fmt::format("{}: ASTRA-sim does not go through dimension {}, which has no algorithm; ring is taken",
                      operation, dimension));
      return "ring";
    }
    const Algorithm& own = implementation.dimensions[dimension];
    switch (own.kind) {
      case AlgorithmKind::kRing:
        return "ring";
      case AlgorithmKind::kDirect:
        return own.window == 0 ? "direct" : fmt::format("direct{}", own.window);
      case AlgorithmKind::kHalvingDoubling:
        return "halving-doubling";
      case AlgorithmKind::kDoubleBinaryTree:
        break;
    }
    if (comm == CommKind::kAllReduce) {
      differences_.insert(
          "double-binary-tree: two trees at once, half of the data each, in segments; ASTRA-sim takes one tree in "
          "turn, "
          "with whole chunks");
      return "double-binary-tree";
    }
    differences_.insert(fmt::format("{}: ASTRA-sim runs an all-reduce for doubleBinaryTree; ring is taken", operation));
    return "ring";
  }

  std::string_view model() const { return inputs_.flags.backend == Backend::kAware ? "fifo" : "alpha-beta"; }

  std::string network() const { return fmt::format("network: {{model: {}}}\n", model()); }

  std::string memory() const {
    const RemoteMemory& memory = inputs_.memory;
    if (!kinds_.contains(NodeKind::kMemory)) return "";
    return fmt::format("memory:\n  remote: {{bandwidth: {} GB/s, latency: {} ns, shared: {}}}\n",
                       plain(memory.bandwidth), memory.latency, memory.kind == MemoryKind::kPool ? "cluster" : "rank");
  }

  void add_differences() {
    const bool has_collectives = kinds_.contains(NodeKind::kCollective);
    if (has_collectives) {
      differences_.insert(fmt::format("endpoint-delay: {} ns before each send and after each last receive are left out",
                                      system_.endpoint_delay));
      if (system_.memory_bandwidth > 0 &&
          (comms_.contains(CommKind::kAllReduce) || comms_.contains(CommKind::kReduceScatter)))
        differences_.insert("local-mem-bw: a reduction is no longer charged for three passes through the memory");
      if (system_.baseline && inputs_.network.dimensions.size() > 1 && comms_.contains(CommKind::kAllReduce))
        differences_.insert(
            "collective-optimization baseline (the whole all-reduce in each dimension) has no counterpart: "
            "reduce-scatter up the dimensions, all-gather down");
      if (inputs_.flags.queues_per_dimension > 1)
        differences_.insert("num-queues-per-dim: there is one queue for each dimension");
    }
    if (inputs_.flags.rendezvous)
      differences_.insert("rendezvous-protocol: the messages of 8,192 bytes before each message are left out");
    if (system_.bus.on) differences_.insert("model-shared-bus: the bus is left out");
    if (system_.replay_only)
      differences_.insert("replay-only: communication is simulated, its durations are not replayed");
    differences_.insert(
        "calls are matched before the run, by communicator and order; collectives of different communicators overlap, "
        "where ASTRA-sim has one collective or send at a time on a rank");
    differences_.insert("times are in picoseconds and not rounded down to nanoseconds");
    if (kinds_.contains(NodeKind::kCompute) && !system_.roofline)
      differences_.insert(
          "a computation without a duration is taken by its FLOPs and bytes, if it has them; in "
          "ASTRA-sim it takes 1 ns");
  }

  const Inputs& inputs_;
  const System& system_;
  const std::map<CommKind, CustomUse>& custom_;
  const PathOf& path_of_;
  std::set<NodeKind> kinds_;
  std::set<CommKind> comms_;
  std::set<std::string> differences_;
};

}  // namespace

std::string experiment_text(const Inputs& inputs, const Job& job, const std::map<CommKind, CustomUse>& custom,
                            const std::string& prefix, const std::string& groups, const std::vector<std::string>& notes,
                            const PathOf& path_of) {
  return Writer(inputs, job, custom, path_of).text(prefix, groups, notes);
}

std::string cluster_text(const NetworkFile& network, std::string_view device) {
  std::string text = fmt::format(
      "# From ASTRA-sim's network {}. Its GB/s are 2^30 bytes. Its latency is that of a link: congestion_unaware "
      "counts\n"
      "# it once a hop of a Ring and twice through a Switch; here it is from end to end between neighbours.\n"
      "device: {}  # ASTRA-sim's networks name none\ndims:\n",
      quoted(network.file), device);
  for (const Dimension& dimension : network.dimensions) text += dimension_text(dimension).substr(2);
  return text;
}

}  // namespace orrery::astra
