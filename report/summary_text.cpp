#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "report/parts.h"
#include "report/result.h"
#include "report/table.h"

namespace orrery {
namespace {

constexpr std::size_t kRowsShown = 24;

std::string share(double part, double whole) { return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0.0); }

std::string parts_text(const std::vector<Part>& parts, double iteration) {
  Table table;
  table.column("where the time goes, mean over ranks", Table::Align::kLeft);
  table.column("time");
  table.column("share");
  for (const Part& part : parts)
    table.row({part.name, rounded(Duration(std::llround(part.seconds * 1e12))), share(part.seconds, iteration)});
  return table.text();
}

// Ranks with equal rows on one line, those that compute longest first.
std::string ranks_text(const Result& result) {
  std::vector<RankParts> rows;  // by class
  for (const Breakdown& one : result.classes) rows.push_back(parts_of(one, result));
  std::vector<std::pair<RankParts, std::vector<std::size_t>>> groups;
  std::map<std::string, Duration> families;
  bool memory = false;
  for (const RankParts& row : rows) {
    for (const auto& [family, time] : row.exposed) families[family] += time;
    memory = memory || row.memory > Duration::zero();
  }
  std::vector<std::size_t> group_of_class;
  for (const RankParts& row : rows) {
    const auto same = std::ranges::find(groups, row, &std::pair<RankParts, std::vector<std::size_t>>::first);
    group_of_class.push_back(static_cast<std::size_t>(same - groups.begin()));
    if (same == groups.end()) groups.push_back({row, {}});
  }
  for (std::size_t rank = 0; rank < result.class_of_rank.size(); ++rank)
    groups[group_of_class[result.class_of_rank[rank]]].second.push_back(rank);
  std::ranges::stable_sort(groups, std::ranges::greater{}, [](const auto& group) { return group.first.compute; });
  Table table;
  table.column("ranks", Table::Align::kLeft);
  for (const char* heading : {"compute", "of it host"}) table.column(heading);
  if (memory) table.column("of it memory");
  for (const auto& [family, time] : families) table.column(family);
  for (const char* heading : {"wait", "bubble", "idle", "finish"}) table.column(heading);
  for (std::size_t i = 0; i < std::min(groups.size(), kRowsShown); ++i) {
    const auto& [row, ranks] = groups[i];
    std::vector<std::string> cells = {rank_ranges(ranks, 24), rounded(row.compute), rounded(row.host)};
    if (memory) cells.push_back(rounded(row.memory));
    for (const auto& [family, time] : families) {
      const auto found = row.exposed.find(family);
      cells.push_back(found == row.exposed.end() ? "-" : rounded(found->second));
    }
    for (const Duration time : {row.wait, row.bubble, row.idle, row.finish.time_since_epoch()})
      cells.push_back(rounded(time));
    table.row(std::move(cells));
  }
  std::string text = table.text();
  if (groups.size() > kRowsShown)
    text += fmt::format("  ... {} more rows; --json has all ranks\n", groups.size() - kRowsShown);
  return text;
}

std::string links_text(const std::vector<LinkClassUse>& links) {
  Table table;
  table.column("links", Table::Align::kLeft);
  for (const char* heading : {"count", "bandwidth", "bytes each", "busy", "utilisation", "busiest"})
    table.column(heading);
  for (const LinkClassUse& use : links) {
    table.row({use.name, fmt::format("{}", use.count), rounded(use.bandwidth),
               rounded(Bytes(std::llround(std::min(use.bytes, 9e18)))), share(use.busy, 1),
               share(use.mean_utilisation, 1), share(use.most, 1)});
  }
  return table.text();
}

// What a training job is judged by, and whether it fits.
std::string training_text(const TrainingFigures& figures) {
  std::string text = fmt::format("MFU {}, {:.1f} model TFLOP/s and {:.1f} {}/s per device   ({})\n",
                                 share(figures.mfu, 1), figures.model_tflops_per_gpu, figures.tokens_per_s_per_gpu,
                                 figures.has_tokens ? "tokens" : "samples", figures.software);
  std::vector<std::string> parts;
  for (std::size_t use = 0; use < kMemoryUseCount; ++use)
    if (figures.memory.by[use].count() > 0)
      parts.push_back(fmt::format("{} {}", name_of(static_cast<MemoryUse>(use)), rounded(figures.memory.by[use])));
  return text + fmt::format("memory {} of {} on rank {}: {}\n", rounded(figures.memory.total()),
                            rounded(figures.capacity), index_of(figures.fullest), fmt::join(parts, ", "));
}

}  // namespace

std::string summary_text(const Result& result) {
  const std::size_t ranks = result.class_of_rank.size();
  const double whole = seconds(result.finish);
  const std::vector<Part> parts = mean_parts(result);
  std::string text = fmt::format("iteration time {}   ({} rank{} on {} device{} {}, {} network, granularity {}{})\n",
                                 rounded(iteration_time(result)), ranks, ranks == 1 ? "" : "s", result.devices,
                                 result.devices == 1 ? "" : "s", printable(result.device), result.network_model,
                                 result.granularity, result.library.empty() ? "" : ", " + result.library);
  if (result.iterations > 1)
    text += fmt::format("mean of {} iterations; the times below are of all of them\n", result.iterations);
  if (result.training) text += training_text(*result.training);
  if (!parts.empty())
    text += fmt::format("mostly {} ({} of the iteration)", parts.front().name, share(parts.front().seconds, whole));
  if (result.busiest_link)
    text += fmt::format("{}busiest link {} (busy {} of the time)", parts.empty() ? "" : "; ", result.busiest_link->name,
                        share(result.busiest_link->busy, 1));
  if (!parts.empty() || result.busiest_link) text += "\n";
  text += fmt::format("\n{}\n{}", parts_text(parts, whole), ranks_text(result));
  if (!result.links.empty()) text += fmt::format("\n{}", links_text(result.links));
  return text;
}

}  // namespace orrery
