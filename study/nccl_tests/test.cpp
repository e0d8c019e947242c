#include <algorithm>
#include <array>

#include "core/assert.h"
#include "study/nccl_tests/formats.h"

namespace orrery {
namespace {

struct TestProgram {
  NcclTest test;
  std::string_view program;
  std::string_view name;
  std::optional<CollectiveKind> kind;
};

constexpr std::array kPrograms = {
    TestProgram{NcclTest::kAllGather, "all_gather_perf", "all_gather", CollectiveKind::kAllGather},
    TestProgram{NcclTest::kAllReduce, "all_reduce_perf", "all_reduce", CollectiveKind::kAllReduce},
    TestProgram{NcclTest::kAllToAll, "alltoall_perf", "all_to_all", CollectiveKind::kAllToAll},
    TestProgram{NcclTest::kAllToAllV, "alltoallv_perf", "all_to_all_v", std::nullopt},
    TestProgram{NcclTest::kBroadcast, "broadcast_perf", "broadcast", CollectiveKind::kBroadcast},
    TestProgram{NcclTest::kGather, "gather_perf", "gather", CollectiveKind::kGather},
    TestProgram{NcclTest::kHypercube, "hypercube_perf", "hypercube", std::nullopt},
    TestProgram{NcclTest::kReduce, "reduce_perf", "reduce", CollectiveKind::kReduce},
    TestProgram{NcclTest::kReduceScatter, "reduce_scatter_perf", "reduce_scatter", CollectiveKind::kReduceScatter},
    TestProgram{NcclTest::kScatter, "scatter_perf", "scatter", CollectiveKind::kScatter},
    TestProgram{NcclTest::kSendRecv, "sendrecv_perf", "sendrecv", std::nullopt},
};

const TestProgram& program_of(NcclTest test) {
  const auto found = std::ranges::find(kPrograms, test, &TestProgram::test);
  ORRERY_ASSERT(found != kPrograms.end());
  return *found;
}

template <class Projection>
std::optional<NcclTest> find(std::string_view text, Projection projection) {
  const auto found = std::ranges::find(kPrograms, text, projection);
  if (found == kPrograms.end()) return std::nullopt;
  return found->test;
}

}  // namespace

std::string_view name_of(NcclTest test) { return program_of(test).name; }
std::optional<CollectiveKind> collective_of(NcclTest test) { return program_of(test).kind; }

std::optional<NcclTest> nccl_test_named(std::string_view name) { return find(name, &TestProgram::name); }

std::optional<NcclTest> nccl_test_run_by(std::string_view word) {
  constexpr std::string_view kQuotes = "\"'`,:;()";
  while (!word.empty() && kQuotes.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  const std::size_t start = word.find_last_of("/\\\"'`(");
  if (start != std::string_view::npos) word.remove_prefix(start + 1);
  for (const std::string_view suffix : {".exe", "_mpi"})
    if (word.ends_with(suffix)) word.remove_suffix(suffix.size());
  return find(word, &TestProgram::program);
}

}  // namespace orrery
