// SPDX-License-Identifier: MIT
// The real and third-party traces of the shared folder, where there is one.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "tests/workload/traces/trace_builder.h"
#include "workload/matching/matching.h"
#include "workload/tools/inspect.h"
#include "workload/tools/lint.h"

using namespace orrery;
using namespace orrery::workload;
using namespace orrery::testing;
using Catch::Matchers::Contains;

namespace {

const std::string kTraces = ORRERY_SOURCE_DIR "/../shared/data/traces";

// False, said aloud, where the archive is not there.
bool unpack(const std::string& archive, const ScratchDirectory& into) {
  const std::string file = kTraces + "/" + archive;
  if (!std::filesystem::exists(file)) {
    WARN("SKIPPED: " << file << " is absent");
    return false;
  }
  const std::string command = "tar -xf '" + file + "' -C '" + into.path(".") + "'";
  if (std::system(command.c_str()) != 0) {
    WARN("SKIPPED: cannot unpack " << file << " (tar with zstd is needed)");
    return false;
  }
  return true;
}

std::string prefix_of(const ScratchDirectory& directory, const std::string& name) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path(".")))
    if (entry.path().filename() == name + ".0.et") return (entry.path().parent_path() / name).string();
  return directory.path(name);
}

std::string errors(const ChakraSource& source) {
  Diagnostics diagnostics;
  try {
    load_chakra_job(source, diagnostics);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::size_t nodes_of_kind(const Job& job, RankId rank, NodeKind kind) {
  return summarise(job.graph(rank)).kinds[static_cast<std::size_t>(kind)].nodes;
}

}  // namespace

TEST_CASE("every third-party synthetic job loads, matches and is shared between ranks") {
  struct Set {
    std::string name;
    std::size_t ranks;
    std::size_t graphs;  // stages that differ: the first, the last, those between; without a pipeline one
  };
  const Set sets[] = {{"gpt13b_16L_dp4tp4pp4_64r", 64, 3},   {"gpt13b_4L_dp2tp2pp2mb4_8r", 8, 2},
                      {"gpt13b_8L_dp4tp4_16r", 16, 1},       {"gpt175b_4L_dp8tp8_64r", 64, 1},
                      {"gpt175b_8L_dp4tp8pp4_128r", 128, 3}, {"gpt_tiny_dp2_4r", 4, 1},
                      {"llama70b_16L_fsdp8tp8_64r", 64, 1},  {"llama8b_32L_fsdp8_8r", 8, 1},
                      {"llama8b_32L_tp4pp4mb4_16r", 16, 3},  {"mixtral_2L_dp2ep4_8r", 8, 1}};
  for (const Set& set : sets) {
    INFO(set.name);
    const ScratchDirectory directory;
    if (!unpack("stage/" + set.name + ".tar.zst", directory)) return;
    const std::string prefix = prefix_of(directory, "workload");
    const ChakraSource source{prefix, (std::filesystem::path(prefix).parent_path() / "comm_group.json").string()};
    Diagnostics diagnostics;
    const Job job = load_chakra_job(source, diagnostics);
    CHECK(job.ranks.size() == set.ranks);
    CHECK(job.graphs.size() == set.graphs);
    std::size_t nodes = 0;
    std::size_t bytes = 0;
    for (const ExecutionGraph& graph : job.graphs) nodes += graph.size(), bytes += graph.memory_bytes();
    CHECK(static_cast<double>(bytes) / static_cast<double>(nodes) <= 100);
    const Matching matching = match(job);
    for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      const std::span<const NodeId> transfers = job.graph(RankId{rank}).transfers();
      for (std::uint32_t i = 0; i < transfers.size(); ++i) {
        // The other end's other end is this one.
        const TransferEnd end = matching.end(RankId{rank}, i);
        CHECK(matching.end(end.rank, job.graph(end.rank).transfer_index(end.node)) ==
              TransferEnd{RankId{rank}, transfers[i]});
      }
    }
    CHECK(lint_job(source).exit_status() == 0);
  }
}

TEST_CASE("the synthetic traces name communicators, so the groups file is needed") {
  const ScratchDirectory directory;
  if (!unpack("stage/gpt13b_4L_dp2tp2pp2mb4_8r.tar.zst", directory)) return;
  CHECK_THAT(errors({.prefix = prefix_of(directory, "workload")}),
             Contains("is not defined") && Contains("no groups file is given"));
}

TEST_CASE("a real DLRM step has cycles when ctrl and data are united and loads with data alone") {
  const ScratchDirectory directory;
  if (!unpack("dlrm_8r.tar.zst", directory)) return;
  const std::string prefix = prefix_of(directory, "dlrm");
  const std::string what = errors({.prefix = prefix});
  CHECK_THAT(what, Contains("dependency on an id that no node of the file has") && Contains("itself") &&
                       Contains("the dependencies form a cycle"));
  CHECK_THAT(what, Contains("675 of 1131 nodes are unreachable because of cycles") && Contains("[ranks 0-7]"));
  CHECK_THAT(what, Contains("`data` dependencies alone are free of unknown, self and cyclic dependencies"));

  Diagnostics diagnostics;
  const Job job = load_chakra_job({.prefix = prefix, .dependencies = Dependencies::kData}, diagnostics);
  CHECK(nodes_of_kind(job, RankId{0}, NodeKind::kCollective) == 8);  // 3 all-reduce, 5 all-to-all
  const Matching matching = match(job);
  CHECK(matching.calls(GroupId{0}).size() == 8);
  CHECK(matching.calls(GroupId{0})[4].bytes == Bytes(1576964));
}

TEST_CASE("the worst graph known is refused with a readable cycle and loads with data alone") {
  const ScratchDirectory directory;
  if (!unpack("resnet_ddp_1rank.tar.gz", directory)) return;
  const std::string prefix = prefix_of(directory, "chakra");
  const std::string what = errors({.prefix = prefix});
  CHECK_THAT(what, Contains("(1277 in all)") && Contains("(383 in all)") &&
                       Contains("2283 of 3664 nodes are unreachable because of cycles"));
  CHECK_THAT(what, Contains("(ctrl)") && Contains("(data)") && Contains("workload.chakra.dependencies: data"));
  CHECK(std::count(what.begin(), what.end(), '\n') < 6);
  Diagnostics diagnostics;
  const Job job = load_chakra_job({.prefix = prefix, .dependencies = Dependencies::kData}, diagnostics);
  CHECK(nodes_of_kind(job, RankId{0}, NodeKind::kCollective) == 7);  // 5 all-reduce, 2 broadcast
  CHECK(job.graph(RankId{0}).edge_count() > 100'000);
  CHECK_NOTHROW(match(job));
}

TEST_CASE("a real Megatron step loads with the CPU side of its collectives as host compute") {
  const ScratchDirectory directory;
  if (!unpack("megatron_tp8_8xA100.tar.zst", directory)) return;
  Diagnostics diagnostics;
  const Job job = load_chakra_job({.prefix = prefix_of(directory, "megatron")}, diagnostics);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const GraphSummary summary = summarise(job.graph(RankId{rank}));
    CHECK(summary.nodes >= 6000);
    CHECK(summary.kinds[static_cast<std::size_t>(NodeKind::kCollective)].nodes == 84);
    CHECK(summary.longest_chain >= 5400);
    CHECK(static_cast<double>(summary.memory_bytes) / static_cast<double>(summary.nodes) <= 100);
  }
  // 170 a rank.
  REQUIRE(job.warnings.size() == 2);  // the other one: the profiler's root node takes no time
  CHECK_THAT(to_string(job.warnings.back()),
             Contains("CPU call that launches the kernel") && Contains("(1360 in all)") && Contains("[ranks 0-7]"));
  const Matching matching = match(job);
  CHECK(matching.calls(GroupId{0}).size() == 84);
  CHECK(matching.calls(GroupId{0})[0].bytes == Bytes(67108865));
  CHECK_THAT(to_text(inspect(job, "megatron")), Contains("8 ranks: all_reduce 84 calls, 5.44 GB"));
}

TEST_CASE("the one-node traces load, but for sends and receives without peers") {
  if (!std::filesystem::exists(kTraces + "/one_node")) {
    WARN("SKIPPED: " << kTraces << "/one_node is absent");
    return;
  }
  for (const std::string name :
       {"ALL_GATHER", "ALL_REDUCE", "ALL_TO_ALL", "BARRIER", "BROADCAST", "REDUCE_SCATTER", "one_comp_node",
        "one_metadata_node_all_types", "one_remote_mem_load_node", "one_remote_mem_store_node",
        "two_comp_nodes_dependent", "two_comp_nodes_independent"}) {
    INFO(name);
    const LintReport report = lint_job({.prefix = kTraces + "/one_node/" + name});
    CHECK(report.exit_status() == 0);
  }
  CHECK_THAT(errors({.prefix = kTraces + "/one_node/one_comm_send_node"}), Contains("send without comm_dst: node"));
  CHECK_THAT(errors({.prefix = kTraces + "/one_node/one_comm_recv_node"}), Contains("receive without comm_src: node"));
}
