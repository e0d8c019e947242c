// SPDX-License-Identifier: MIT
// Tables of tuner plug-ins: which row holds for a call, and what of a table is refused.
#include "collectives/nccl/tuner.h"

#include <catch2/catch.hpp>
#include <string>

using namespace orrery;
using namespace orrery::collectives;

namespace {

NcclTuner read(const std::string& text) {
  Diagnostics diagnostics;
  NcclTuner tuner = parse_nccl_tuner(text, "tuner.csv", diagnostics);
  for (const Problem& problem : diagnostics.problems()) INFO(to_string(problem));
  CHECK_FALSE(diagnostics.has_errors());
  return tuner;
}

std::string error_of(const std::string& text) {
  Diagnostics diagnostics;
  parse_nccl_tuner(text, "tuner.csv", diagnostics);
  return diagnostics.has_errors() ? to_string(diagnostics.problems().front()) : "";
}

int line_of(const NcclTuner& tuner, CollectiveKind kind, std::int64_t bytes, std::uint32_t nodes, std::uint32_t ranks) {
  const NcclTunerRow* row = tuner.row_of(kind, Bytes(bytes), nodes, ranks);
  return row == nullptr ? 0 : row->line;
}

}  // namespace

TEST_CASE("the first row of a tuner that fits a call holds, by collective, size, nodes and ranks") {
  const NcclTuner tuner = read(
      "# collective,min,max,...\n"
      "allreduce,0,1023,tree,ll,-1,-1,-1,-1,-1\n"
      "allreduce,1024,4096,ring,simple,8,2,16\n"
      "allreduce,1024,8192,NVLSTree,Simple,-1,2,-1\n"
      "allgather,0,16384,ring,ll128,-1,-1,-1,-1,0\n"
      "broadcast,0,100,ring,ll,-1,-1,-1,4,-1\n"  // for four calls at once
      "reduce,0,100,ring,ll,-1,-1,-1,1,1\n");    // for registered buffers
  CHECK(tuner.rows.size() == 4);
  CHECK(line_of(tuner, CollectiveKind::kAllReduce, 1023, 1, 8) == 2);
  CHECK(line_of(tuner, CollectiveKind::kAllReduce, 1024, 2, 16) == 3);
  CHECK(line_of(tuner, CollectiveKind::kAllReduce, 4096, 2, 8) == 4);
  CHECK(line_of(tuner, CollectiveKind::kAllReduce, 4096, 1, 8) == 0);
  CHECK(line_of(tuner, CollectiveKind::kAllReduce, 8193, 2, 8) == 0);
  // A rank of an all-gather brings an eighth of what it gets, by which NCCL asks: 8 x 2048 bytes.
  CHECK(line_of(tuner, CollectiveKind::kAllGather, 2048, 1, 8) == 5);
  CHECK(line_of(tuner, CollectiveKind::kAllGather, 2049, 1, 8) == 0);
  CHECK(line_of(tuner, CollectiveKind::kBroadcast, 8, 1, 8) == 0);
  CHECK(line_of(tuner, CollectiveKind::kReduce, 8, 1, 8) == 0);
  CHECK(tuner.rows[1].channels == 8);
  CHECK(tuner.rows[2].algorithm == NcclAlgorithm::kNvlsTree);
  CHECK(read("colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks\nreduce,0,1,ring,ll,-1,-1,-1\n")
            .rows.size() == 1);
  // Names as NCCL prints them elsewhere.
  CHECK(read("Reduce_Scatter,0,1,Ring,LL128,-1,-1,-1\n").rows.front().kind == CollectiveKind::kReduceScatter);
}

TEST_CASE("a wrong cell of a tuner is refused where it stands") {
  const auto has = [](const std::string& text, const std::string& expected) {
    const std::string error = error_of(text);
    INFO(error);
    return error.find(expected) != std::string::npos;
  };
  const std::string good = "allreduce,0,1,ring,ll,-1,-1,-1\n";
  CHECK(has("", "tuner.csv:1:1: error: no rows"));
  CHECK(has(good + "allreduce,0,1,ring\n", "tuner.csv:2:1: error: 4 cells; a row has 8 to 10"));
  CHECK(has("alltoall,0,1,ring,ll,-1,-1,-1\n", "tuner.csv:1:1: error: a tuner has no collective 'alltoall'"));
  CHECK(has("allreduce,0,1,rings,ll,-1,-1,-1\n", "tuner.csv:1:15: error: NCCL has no algorithm 'rings'"));
  CHECK(has("allreduce,0,1,ring,l,-1,-1,-1\n", "tuner.csv:1:20: error: NCCL has no protocol 'l'"));
  CHECK(has("allreduce,0,1,nvls,ll,-1,-1,-1\n", "tuner.csv:1:20: error: NCCL has no nvls in ll"));
  CHECK(has("allreduce,2,1,ring,ll,-1,-1,-1\n", "tuner.csv:1:13: error: sizes from 2 to 1"));
  CHECK(has("allreduce,0,1K,ring,ll,-1,-1,-1\n", "tuner.csv:1:13: error: '1K' where a whole number"));
  CHECK(has("allreduce,0,1,ring,ll,999,-1,-1\n", "tuner.csv:1:23: error: '999' where a whole number from -1 to 64"));
}
