// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "bench/bench.h"
#include "core/error.h"
#include "core/files/read_file.h"
#include "workload/chakra/reader.h"
#include "workload/tools/inspect.h"

namespace orrery::bench {
namespace {

struct Count final : workload::NodeViewVisitor {
  std::uint64_t nodes = 0;
  void view(const workload::NodeView& /*node*/, workload::ChakraPosition /*position*/) override { ++nodes; }
};

}  // namespace

// Decoding alone, then all the way to a checked, compact graph.
void measure_reading(const std::vector<std::string>& files) {
  std::vector<std::string> contents;
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    contents.push_back(read_file(file));
    bytes += contents.back().size();
  }
  Count count;
  const double decode = best_seconds(3, [&] {
    count.nodes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) workload::read_chakra(files[i], contents[i], count);
  });
  std::size_t memory = 0;
  const double load = best_seconds(3, [&] {
    memory = 0;
    for (const std::string& file : files) {
      Diagnostics diagnostics;
      memory += workload::inspect_trace(file, workload::Dependencies::kData, diagnostics).memory_bytes;
    }
  });
  const double megabytes = static_cast<double>(bytes) * 1e-6;
  fmt::print(
      "reading {} files, {:.1f} MB, {} nodes: decoding {:.0f} MB/s, to a compact graph {:.0f} MB/s, {:.0f} ns and "
      "{:.1f} bytes of memory a node\n",
      files.size(), megabytes, count.nodes, megabytes / decode, megabytes / load,
      load * 1e9 / static_cast<double>(count.nodes), static_cast<double>(memory) / static_cast<double>(count.nodes));
}

}  // namespace orrery::bench
