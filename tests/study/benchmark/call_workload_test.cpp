// SPDX-License-Identifier: MIT
// `workload: {collective: NAME}` as an experiment against `orrery collective`, which makes the same job by itself.
#include <string>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/run.h"
#include "study/benchmark/study.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;

namespace {

experiment::Experiment read(const std::string& text) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "call.yaml", diagnostics);
  return experiment::read_experiment("call.yaml", std::move(root), kFiles, diagnostics);
}

report::Result run(const std::string& text) {
  Diagnostics diagnostics;
  return experiment::run_experiment(read(text), false, diagnostics).result;
}

std::string error_of(const std::string& workload, const std::string& more = {}) {
  try {
    read(fmt::format("cluster: dgx-a100\nnodes: 2\nworkload: {{{}}}\n{}", workload, more));
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a call as an experiment takes as long, and has the bandwidths, that the table of its collective says") {
  for (const workload::CallOperation& operation : workload::call_operations())
    for (const char* library : {"nccl", "fixed"})
      for (const std::string per_node : {"", "1", "4"}) {
        CAPTURE(operation.name, library, per_node);
        const bool is_barrier = operation.size == workload::CallSize::kNone;
        CollectiveQuestion question{.cluster = "dgx-a100", .nodes = "2", .devices_per_node = per_node};
        question.library = library;
        const Bytes size = is_barrier ? Bytes(0) : Bytes(12'345'678);
        const CollectiveTable table = study_collective(question, operation, std::vector{size}, kFiles);
        const CollectiveRow& row = table.rows.front();
        const report::Result result = run(
            fmt::format("cluster: dgx-a100\nnodes: 2\nworkload: {{collective: {}{}{}}}\ncollectives: {{library: {}}}\n",
                        operation.name, is_barrier ? "" : ", size: 12345678 B",
                        per_node.empty() ? "" : ", ranks_per_node: " + per_node, library));
        CHECK(result.finish.time_since_epoch() == row.time);
        CHECK(result.class_of_rank.size() == table.ranks);
        REQUIRE(result.call.has_value());
        CHECK(result.call->operation == operation.name);
        CHECK(result.call->algorithm_bandwidth == Approx(row.algorithm_bandwidth));
        CHECK(result.call->bus_bandwidth == Approx(row.bus_bandwidth));
      }
}

TEST_CASE("a call on some ranks leaves the others idle, and two calls share the cluster") {
  const report::Result half =
      run("cluster: dgx-a100\nnodes: 1\nworkload: {collective: all_reduce, size: 1 GiB, ranks: 4}\n");
  CHECK(half.class_of_rank.size() == 4);
  const report::Result both =
      run("cluster: dgx-a100\nnodes: 1\njobs:\n"
          "  - {name: a, workload: {collective: all_reduce, size: 1 GiB, ranks: 4}}\n"
          "  - {name: b, workload: {collective: all-gather, size: 1 GiB, ranks: 4}}\n");
  REQUIRE(both.jobs.size() == 2);
  CHECK(both.jobs[0].workload == "all_reduce of 1.000 GiB");
  // Through one switch that never blocks, on devices of their own.
  CHECK(both.jobs[0].together == half.finish.time_since_epoch());
  CHECK(both.jobs[1].together == both.jobs[1].alone);
}

TEST_CASE("a call that makes no sense is refused where it stands") {
  CHECK(has(error_of("collective: all_reduse, size: 1 GiB"), "did you mean 'all_reduce'?"));
  CHECK(has(error_of("collective: all_reduce"), "'all_reduce' needs a size\n  hint: size: 1 GiB"));
  CHECK(has(error_of("collective: barrier, size: 1 GiB"), "a barrier carries no data"));
  CHECK(has(error_of("collective: all_reduce, size: many"), "size"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks: 1"), "'all_reduce' has only one rank here"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks: 0"), "out of range; expected 1 to"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 9"), "9 ranks on each node, which has 8 devices"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 2, ranks: 5"),
            "5 ranks, and 2 on each of 2 nodes"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, ranks_per_node: 2", "placement: strided\n"),
            "'ranks_per_node' is a placement of its own"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, batch: {global: 4}"),
            "'batch' belongs to a model to train, not to a collective"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, model: gpt3-13b"),
            "'model' belongs to a model to train, not to a collective"));
  CHECK(has(error_of("collective: all_reduce, size: 1 GiB, chakra: {prefix: x}"),
            "'chakra' and 'collective' are two jobs"));
  CHECK(has(error_of("model: gpt3-13b, size: 1 GiB, parallel: {tensor: 8, data: 2}, batch: {global: 16, micro: 1}"),
            "'size' belongs to 'collective'"));
}
