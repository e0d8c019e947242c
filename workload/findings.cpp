#include "workload/findings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workload/rank_list.h"

namespace orrery {
namespace {

constexpr std::size_t kExamplesShown = 3;
constexpr std::size_t kKindsPerFile = 50;  // a file of garbage attributes could have as many as nodes

// One kind of finding over all ranks.
struct Merged {
  Finding first;  // with the sum of counts and the examples that are shown
  std::vector<std::uint32_t> ranks;
};

using Key = std::tuple<Severity, std::string_view, std::string_view, int, int>;

void merge(const Finding& finding, std::uint32_t rank, std::map<Key, std::size_t>& index, std::vector<Merged>& merged) {
  const Key key{finding.severity, finding.what, finding.hint, finding.where.line, finding.where.column};
  const auto [entry, is_new] = index.try_emplace(key, merged.size());
  if (is_new) {
    merged.push_back({finding, {rank}});
    return;
  }
  Merged& known = merged[entry->second];
  known.first.count += finding.count;
  if (known.ranks.back() != rank) known.ranks.push_back(rank);
  for (const std::string& example : finding.examples) {
    if (known.first.examples.size() == kExamplesShown) break;
    if (std::ranges::count(known.first.examples, example) == 0) known.first.examples.push_back(example);
  }
}

std::string message_of(const Merged& merged, bool is_job) {
  const Finding& finding = merged.first;
  std::string text = finding.what;
  for (std::size_t i = 0; i < finding.examples.size(); ++i) text += (i == 0 ? ": " : ", ") + finding.examples[i];
  if (finding.count > finding.examples.size() && !finding.examples.empty())
    text += fmt::format(" ({} in all)", finding.count);
  if (is_job && merged.ranks.size() > 1) text += fmt::format(" [{}]", rank_list(merged.ranks));
  return text;
}

// The same advice once, with the last problem it is for.
void drop_repeated_hints(std::vector<Merged>& merged) {
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const auto same_hint = [&](const Merged& later) { return later.first.hint == merged[i].first.hint; };
    if (std::any_of(merged.begin() + static_cast<std::ptrdiff_t>(i) + 1, merged.end(), same_hint))
      merged[i].first.hint.clear();
  }
}

}  // namespace

bool Findings::has_errors() const {
  return std::ranges::any_of(findings_, [](const Finding& f) { return f.severity == Severity::kError; });
}

void Findings::error(std::string_view what, std::string example, std::string_view hint) {
  add(Severity::kError, what, std::move(example), hint);
}

void Findings::warning(std::string_view what, std::string example, std::string_view hint) {
  add(Severity::kWarning, what, std::move(example), hint);
}

void Findings::take(const InputError& error) {
  for (const Problem& problem : error.problems()) {
    if (findings_.size() >= kKindsPerFile) {
      add(problem.severity, "more problems of other kinds", {}, {});
      continue;
    }
    findings_.push_back({problem.severity, problem.where, problem.message, problem.hint, 1, {}});
  }
}

void Findings::add(Severity severity, std::string_view what, std::string example, std::string_view hint) {
  const auto same = [&](const Finding& f) { return f.severity == severity && f.what == what && f.hint == hint; };
  auto found = std::ranges::find_if(findings_, same);
  if (found == findings_.end())
    found = findings_.insert(findings_.end(), {severity, {file_, 0, 0}, std::string(what), std::string(hint), 0, {}});
  ++found->count;
  if (found->examples.size() < kExamplesShown && !example.empty()) found->examples.push_back(std::move(example));
}

void report(std::span<const RankFindings> ranks, bool is_job, Diagnostics& diagnostics) {
  std::map<Key, std::size_t> index;
  std::vector<Merged> merged;
  for (const RankFindings& of_rank : ranks)
    for (const Finding& finding : of_rank.findings->all()) merge(finding, of_rank.rank, index, merged);
  std::ranges::stable_partition(merged, [](const Merged& m) { return m.first.severity == Severity::kError; });
  drop_repeated_hints(merged);
  for (const Merged& m : merged) {
    if (m.first.severity == Severity::kError) diagnostics.error(m.first.where, message_of(m, is_job), m.first.hint);
    else diagnostics.warning(m.first.where, message_of(m, is_job), m.first.hint);
  }
}

}  // namespace orrery
