// SPDX-License-Identifier: MIT
// `orrery_bench nccl`: what NCCL takes, by the model of collectives/nccl/model.h. Deterministic, so docs/nccl.md quotes
// its tables, each of which stands under "== NAME".
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "report/table.h"
#include "system/plans/group_library.h"

namespace orrery::bench {
namespace {

constexpr Bytes kLeast{8};
constexpr Bytes kMost{std::int64_t{16} << 30};
constexpr double kNever = std::numeric_limits<double>::infinity();

// The first devices of each node of a cluster, all-reducing.
class Ranks {
 public:
  Ranks(std::string_view cluster, std::uint32_t nodes, std::optional<std::uint32_t> per_node = {})
      : experiment_(read(cluster, nodes)), layout_(system::lay_out_group(devices(per_node), experiment_.fabric)) {}

  std::uint32_t count() const { return layout_.shape.ranks; }
  collectives::NcclTiming way(Bytes bytes) const {
    return experiment_.nccl->choice(CollectiveKind::kAllReduce, bytes, layout_.shape);
  }

  // In the best of its protocols; kNever: NCCL does not take it here.
  double seconds(collectives::NcclAlgorithm algorithm, Bytes bytes) const {
    const collectives::NcclCall call{CollectiveKind::kAllReduce, bytes, &layout_.shape, experiment_.nccl->machine()};
    double least = kNever;
    for (const collectives::NcclTiming& way :
         collectives::nccl_timings(call, experiment_.nccl->options(), experiment_.nccl->constants()))
      if (way.algorithm == algorithm) least = std::min(least, way.seconds);
    return least;
  }

  // Bus bandwidth of all-reduces, in bytes per second.
  double bus_bandwidth(Bytes bytes, double seconds) const {
    return 2.0 * (count() - 1) / count() * static_cast<double>(bytes.count()) / seconds;
  }

  // Rate of NVLS over one GPU's links.
  double nvls_rate() const {
    std::vector<LinkId> route;
    experiment_.fabric.route(DeviceId(0), DeviceId(1), route);
    ORRERY_ASSERT(!route.empty());
    return static_cast<double>(experiment_.fabric.link(route.front()).bandwidth.count()) *
           experiment_.nccl->constants().nvls_efficiency(experiment_.nccl->machine().architecture);
  }

 private:
  static experiment::Experiment read(std::string_view cluster, std::uint32_t nodes) {
    const ConfigFiles files(ORRERY_SOURCE_DIR "/configs");
    Diagnostics diagnostics;
    ConfigValue root = parse_config(
        fmt::format("cluster: {}\nnodes: {}\ncollectives: {{library: nccl}}\n", cluster, nodes), "bench", diagnostics);
    diagnostics.throw_if_errors();
    return experiment::read_machine("bench", std::move(root), files, diagnostics);
  }

  std::vector<DeviceId> devices(std::optional<std::uint32_t> per_node) const {
    const std::uint32_t node = experiment_.fabric.dimensions().front().size;
    std::vector<DeviceId> devices;
    for (std::uint32_t i = 0; i < experiment_.fabric.device_count(); ++i)
      if (i % node < per_node.value_or(node)) devices.push_back(DeviceId(i));
    return devices;
  }

  experiment::Experiment experiment_;
  system::GroupLayout layout_;
};

std::string gigabytes(double bytes_per_second) { return fmt::format("{:.1f}", bytes_per_second * 1e-9); }
std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

// Adds the sizes at which NCCL's choice changes, over powers of two.
void add_switches(report::Table& table, std::string_view cluster, std::uint32_t nodes) {
  const Ranks ranks(cluster, nodes);
  std::string last;
  for (Bytes size = kLeast; size <= kMost; size = size * 2) {
    const collectives::NcclTiming way = ranks.way(size);
    ORRERY_ASSERT(way.algorithm.has_value());
    const std::string takes =
        fmt::format("{} {}", collectives::name_of(*way.algorithm), collectives::name_of(way.protocol));
    if (takes == last) continue;
    const bool is_first = last.empty();
    last = takes;
    table.row({is_first ? std::string(cluster) : "", is_first ? fmt::format("{}", nodes) : "",
               is_first ? fmt::format("{}", ranks.count()) : "", to_text(size),
               std::string(collectives::name_of(*way.algorithm)), std::string(collectives::name_of(way.protocol)),
               microseconds(way.seconds)});
  }
}

std::string switch_points() {
  report::Table table;
  table.column("cluster", report::Table::Align::kLeft);
  for (const char* heading : {"nodes", "GPUs", "from"}) table.column(heading);
  for (const char* heading : {"algorithm", "protocol"}) table.column(heading, report::Table::Align::kLeft);
  table.column("time (us)");
  for (const char* cluster : {"dgx-a100", "dgx-h100", "dgx-h200"}) add_switches(table, cluster, 1);
  for (const char* cluster : {"dgx-a100", "dgx-h100"})
    for (const std::uint32_t nodes : {2U, 16U}) add_switches(table, cluster, nodes);
  return table.text();
}

std::string nvls_law() {
  report::Table table;
  for (const char* heading : {"GPUs", "ring (GB/s)", "nvls (GB/s)", "2(p-1)/(p+1) B", "nvls / ring"})
    table.column(heading);
  table.column("takes", report::Table::Align::kLeft);
  for (std::uint32_t gpus = 4; gpus <= 8; ++gpus) {
    const Ranks ranks("dgx-h200", 1, gpus);
    const double ring = ranks.bus_bandwidth(kMost, ranks.seconds(collectives::NcclAlgorithm::kRing, kMost));
    const double seconds = ranks.seconds(collectives::NcclAlgorithm::kNvls, kMost);
    const bool has_nvls = seconds < kNever;
    const double nvls = ranks.bus_bandwidth(kMost, seconds);
    table.row({fmt::format("{}", gpus), gigabytes(ring), has_nvls ? gigabytes(nvls) : "-",
               gigabytes(2.0 * (gpus - 1) / (gpus + 1) * ranks.nvls_rate()),
               has_nvls ? fmt::format("{:.3f}", nvls / ring) : "-",
               std::string(collectives::name_of(*ranks.way(kMost).algorithm))});
  }
  return table.text();
}

std::string crossover() {
  report::Table table;
  for (const char* heading : {"nodes", "GPUs", "tree wins up to", "tree (us)", "ring (us)"}) table.column(heading);
  for (const std::uint32_t nodes : {2U, 4U, 8U, 16U, 32U, 64U}) {
    const Ranks ranks("dgx-a100", nodes);
    const auto wins = [&](Bytes size) {
      return ranks.seconds(collectives::NcclAlgorithm::kTree, size) <
             ranks.seconds(collectives::NcclAlgorithm::kRing, size);
    };
    Bytes size = kMost;
    while (size > kLeast && !wins(size)) size = Bytes(size.count() / 2);
    table.row({fmt::format("{}", nodes), fmt::format("{}", ranks.count()), wins(size) ? to_text(size) : "-",
               microseconds(ranks.seconds(collectives::NcclAlgorithm::kTree, size)),
               microseconds(ranks.seconds(collectives::NcclAlgorithm::kRing, size))});
  }
  return table.text();
}

}  // namespace

void print_nccl() {
  fmt::print("== switch points\n{}\n== NVLS\n{}\n== tree and ring\n{}", switch_points(), nvls_law(), crossover());
}

}  // namespace orrery::bench
