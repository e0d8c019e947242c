// SPDX-License-Identifier: MIT
// Text workloads, imported and simulated, against what they take by hand.
#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"
#include "tests/system/small_jobs.h"
#include "workload/import/layers/layers.h"

using namespace orrery;
using namespace orrery::network;
using namespace orrery::system;
using namespace orrery::workload;
using namespace orrery::test;

namespace {

constexpr Bandwidth kBandwidth{1'000'000'000};  // a byte in a nanosecond
constexpr Duration kLatency{500'000};           // 500 ns

Duration nanoseconds(std::int64_t count) { return std::chrono::nanoseconds(count); }

Time makespan(const Job& job, const Fabric& fabric) {
  SimulationOptions options;
  options.collectives = always("ring");
  const Outcome outcome = simulate(job, fabric, options);
  Time last{};
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (std::uint32_t node = 0; node < job.graph(RankId(rank)).size(); ++node)
      last = std::max(last, outcome.end(rank, NodeId(node)));
  return last;
}

}  // namespace

TEST_CASE("two layers of DATA take what they take by hand") {
  const Fabric fabric = one_dimension("ring", 4, kBandwidth, kLatency);
  LayersOptions options;
  options.ranks = 4;
  options.iterations = 2;
  Diagnostics diagnostics;
  const Job job = import_layers("w.txt",
                                "DATA\n2\n"
                                "l0 -1 100 NONE 0 200 NONE 0 300 ALLREDUCE 4000 50\n"
                                "l1 -1 110 NONE 0 210 NONE 0 310 ALLREDUCE 40000 60\n",
                                TextDialect::kAstra, options, diagnostics);
  // A ring of four: 6 steps of a quarter. Layer 0: 6 (1000 + 500) = 9,000 ns, layer 1: 6 (10,000 + 500) = 63,000 ns.
  // l1's all-reduce starts at 100 + 110 + 310 = 520 and ends at 63,520. l0's is called at 520 + 210 + 300 = 1,030 but
  // waits for it: 63,520 to 72,520, and its update ends at 72,570. Only then the next forward pass starts; l1's was
  // updated at 63,580. So an iteration takes 72,570 ns.
  CHECK(makespan(job, fabric) == at(2 * nanoseconds(72'570)));
}

TEST_CASE("pipeline stages fill and drain as the formula says") {
  const Fabric fabric = one_dimension("ring", 4, kBandwidth, kLatency);
  Diagnostics diagnostics;
  std::string layers;
  for (int i = 0; i < 6; ++i)
    layers +=
        "embedding_layer -1 1000 NONE 0 3000 NONE 0 1000 NONE 0 0\nmlp -1 2000 NONE 0 4000 NONE 0 2000 NONE 0 0\n";
  const Job job = import_layers("w.txt",
                                "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 1 ga: 6 "
                                "all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 250\n12\n" +
                                    layers,
                                TextDialect::kSimai, {}, diagnostics);
  // A micro-batch takes 3,000 ns forward and 10,000 backward, a message 250 + 500 ns. The last stage starts three
  // forwards and three messages late and then never waits; its gradients need as many backwards and messages to the
  // first stage: (6 + 3) (3,000 + 10,000) + 6 * 750.
  CHECK(makespan(job, fabric) == at(nanoseconds(9 * 13'000 + 6 * 750)));
}
