// SPDX-License-Identifier: MIT
#include "report/operations/rank_csv.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/system/small_jobs.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::workload;
using namespace orrery::test;
using std::chrono::microseconds;

namespace {

std::string refusal(std::string_view text, std::size_t ranks) {
  try {
    check_rank_choice(parse_rank_choice(text), ranks);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> chosen(std::string_view text,
                                                            const std::vector<std::uint32_t>& class_of_rank) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ranks;
  for (const ChosenRank& one : chosen_ranks(parse_rank_choice(text), class_of_rank))
    ranks.emplace_back(index_of(one.rank), one.stands_for);
  return ranks;
}

// Ranks 0 and 2 compute for 1 us, rank 1 for 2 us.
Job three_ranks() {
  JobBuilder builder(3);
  for (const std::uint32_t rank : {0u, 1u, 2u}) builder.compute(rank, microseconds(rank == 1 ? 2 : 1));
  return builder.build();
}

}  // namespace

TEST_CASE("the lowest rank of each class stands for all of its class, chosen ranks for themselves") {
  const std::vector<std::uint32_t> classes = {0, 1, 0, 2, 1, 0};
  CHECK(chosen("classes", classes) == std::vector<std::pair<std::uint32_t, std::uint64_t>>{{0, 3}, {1, 2}, {3, 1}});
  CHECK(chosen("all", classes).size() == 6);
  // Overlapping, out of order: every rank once.
  CHECK(chosen("4-5,0,3-4", classes) ==
        std::vector<std::pair<std::uint32_t, std::uint64_t>>{{0, 1}, {3, 1}, {4, 1}, {5, 1}});
}

TEST_CASE("a choice of ranks that says nothing, or names ranks beyond the job, is refused with what would do") {
  CHECK(refusal("0-7", 8).empty());
  CHECK(refusal("0-8", 8) == "--ranks: error: the job has no rank 8\n  hint: its 8 ranks are numbered from 0 to 7");
  CHECK(refusal("12-4000000000", 8).find("no rank 12\n") != std::string::npos);
  CHECK(refusal("3-1", 8) == "--ranks: error: the range 3-1 is empty\n  hint: write 1-3");
  for (const char* wrong : {"", "-", "1-", "-1", "one", "1,,2", "1, 2", "1-2-3", "99999999999", "1,"})
    CHECK(refusal(wrong, 8).find("is neither a rank nor a range of ranks\n  hint: write classes") != std::string::npos);
}

TEST_CASE("operations.csv has the lines of the chosen ranks, and its size is known before") {
  const Job job = three_ranks();
  const Outcome outcome = simulate(job, one_dimension("switch", 3, Bandwidth(1'000'000'000), microseconds(1)));
  const std::vector<RankId> acting = {RankId(0), RankId(1), RankId(2)};
  const std::optional<TrainingFacts> untrained;
  const Result result{};
  const TimelineSource source{job, untrained, outcome.log, acting, result};
  const RankCsv table = operations_csv(source);
  const std::vector<ChosenRank> ranks = chosen_ranks(parse_rank_choice("classes"), std::vector<std::uint32_t>{0, 1, 0});
  std::string text;
  write_csv(table, ranks, [&](std::string_view piece) { text += piece; });
  CHECK(text.starts_with("rank,stands_for,node,name,kind,detail,bytes,start_ps,moving_ps,end_ps,"));
  CHECK(text.find("\n0,2,") != std::string::npos);
  CHECK(std::ranges::count(text, '\n') == 3);
  CHECK(text.find("\n1,1,") != std::string::npos);
  // This one is of no pass, no collective and no message.
  CHECK(text.find(",0,0,2000000,,,") != std::string::npos);
  // One operation each, of as many characters.
  CHECK(estimated_size(table, ranks) == Bytes(static_cast<std::int64_t>(text.size())));
  CHECK(estimated_size(table, {}) == Bytes(static_cast<std::int64_t>(table.heading.size())));
}
