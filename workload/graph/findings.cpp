// SPDX-License-Identifier: MIT
#include "workload/graph/findings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workload/graph/rank_list.h"

namespace orrery::workload {
namespace {

constexpr std::size_t kExamplesShown = 3;
constexpr std::size_t kKindsPerFile = 50;  // a file of garbage could have as many as nodes
constexpr std::string_view kOtherKinds = "more problems of other kinds";

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
    add(problem.severity, problem.message, {}, problem.hint);
    Finding& last = findings_.back();
    if (last.what == problem.message && last.count == 1) last.where = problem.where;
  }
}

void Findings::add(Severity severity, std::string_view what, std::string example, std::string_view hint) {
  const auto same = [&](const Finding& f) { return f.severity == severity && f.what == what && f.hint == hint; };
  auto found = std::ranges::find_if(findings_, same);
  if (found == findings_.end() && findings_.size() >= kKindsPerFile && what != kOtherKinds)
    return add(severity, kOtherKinds, {}, {});
  if (found == findings_.end()) {
    findings_.emplace_back();
    found = std::prev(findings_.end());
    found->severity = severity;
    found->where.file = file_;
    found->what = what;
    found->hint = hint;
  }
  ++found->count;
  if (found->examples.size() < kExamplesShown && !example.empty()) found->examples.push_back(std::move(example));
}

void report(std::span<const RankFindings> ranks, bool is_job, Diagnostics& diagnostics) {
  std::map<Key, std::size_t> index;
  std::vector<Merged> merged;
  for (const RankFindings& of_rank : ranks)
    for (const Finding& finding : of_rank.findings->all()) merge(finding, of_rank.rank, index, merged);
  std::stable_partition(merged.begin(), merged.end(),
                        [](const Merged& m) { return m.first.severity == Severity::kError; });
  for (const Merged& m : merged) {
    Problem problem{m.first.severity, m.first.where, message_of(m, is_job), m.first.hint};
    if (is_job) problem.rank = m.ranks.front();
    if (!m.first.examples.empty()) problem.node = m.first.examples.front();
    diagnostics.add(std::move(problem));
  }
}

}  // namespace orrery::workload
