// SPDX-License-Identifier: MIT
// Topology matrices from hostile text. Errors name a line; what is accepted is symmetric and makes a graph in which
// every device reaches every member.
#include <cstdint>
#include <string_view>

#include "core/assert.h"
#include "core/error.h"
#include "network/config/matrix.h"
#include "network/fabric/routed_graph.h"
#include "tests/fuzz/fuzzer.h"

ORRERY_FUZZER(fuzz_topo_matrix, text) {
  using namespace orrery;
  using namespace orrery::network;
  Diagnostics diagnostics;
  const TopologyMatrix matrix = parse_topology_matrix(text, "fuzz.txt", diagnostics);
  ORRERY_ASSERT((matrix.devices == 0) == diagnostics.has_errors());
  for (std::uint32_t a = 0; a < matrix.members(); ++a)
    for (std::uint32_t b = 0; b < matrix.members(); ++b) ORRERY_ASSERT(matrix.at(a, b) == matrix.at(b, a));
  if (matrix.devices > 0 && matrix.members() <= 16) {
    const Bandwidth bandwidth(25'000'000'000);
    const Duration latency(1'000);
    const MatrixCapacities capacities{
        {bandwidth, latency}, {bandwidth, latency}, {bandwidth, latency}, {bandwidth, latency}};
    GraphSpec spec = graph_of(matrix, capacities, true, "fuzz.txt", diagnostics);
    if (!diagnostics.has_errors()) ORRERY_ASSERT(!RoutedGraph(std::move(spec)).unreachable());
  }
  for (const Problem& problem : diagnostics.problems())
    ORRERY_ASSERT(problem.where.line > 0 && problem.where.column > 0);
}
