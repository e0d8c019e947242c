// SPDX-License-Identifier: MIT
// The examples of docs/import.md are read as the page says.
#include <catch2/catch.hpp>
#include <string>

#include "core/files/read_file.h"
#include "workload/import/goal/goal.h"
#include "workload/import/kineto/kineto.h"
#include "workload/matching/matching.h"

using namespace orrery;
using namespace orrery::workload;

namespace {

// The fenced block behind <!-- test: name -->.
std::string example(const std::string& name) {
  const std::string page = read_file(ORRERY_SOURCE_DIR "/docs/import.md");
  const std::size_t mark = page.find("<!-- test: " + name + " -->");
  REQUIRE(mark != std::string::npos);
  const std::size_t begin = page.find('\n', page.find("```", mark)) + 1;
  return page.substr(begin, page.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("the GOAL schedule of the manual is read") {
  Diagnostics diagnostics;
  const Job job = import_goal_text("import.md", example("goal"), diagnostics);
  CHECK(diagnostics.problems().empty());
  REQUIRE(job.ranks.size() == 2);
  CHECK(job.graph(RankId{0}).duration(NodeId{0}) == Duration(1'500'000));  // 1500 ns
  CHECK(job.graph(RankId{1}).bytes(NodeId{0}) == Bytes(4096));
  match(job);
}

TEST_CASE("the profile of the manual is read") {
  Diagnostics diagnostics;
  const Job job = import_kineto_text("import.md", example("kineto"), diagnostics);
  CHECK(diagnostics.problems().empty());
  const ExecutionGraph& graph = job.graph(RankId{0});
  REQUIRE(graph.size() == 3);  // the collective begins 5 us after the kernel: the host was late
  CHECK(graph.kind(NodeId{1}) == NodeKind::kHostCompute);
  CHECK(graph.duration(NodeId{1}) == Duration(5'000'000));
  CHECK(graph.bytes(graph.collectives()[0]) == Bytes(4096));
  match(job);
}
