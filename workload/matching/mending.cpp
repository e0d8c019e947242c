// SPDX-License-Identifier: MIT
#include "workload/matching/mending.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "workload/graph/rank_list.h"
#include "workload/matching/trials.h"

namespace orrery::workload {
namespace {

using Edits = std::vector<Edit>;

// Merges edits: a call that is removed from one communicator and lacks in another is made on the wrong one; two nodes
// each of which becomes what the other was have come in the wrong order.
class Merger {
 public:
  explicit Merger(const Job& job) : job_(job) {}

  Edits merge(Edits edits) const {
    for (std::size_t i = 0; i < edits.size(); ++i)
      for (std::size_t j = i + 1; j < edits.size(); ++j)
        if (const std::optional<Edit> one = either_as_one(edits[i], edits[j])) {
          edits[i] = *one;
          edits.erase(edits.begin() + static_cast<std::ptrdiff_t>(j));
          break;
        }
    return edits;
  }

 private:
  std::optional<Edit> either_as_one(const Edit& a, const Edit& b) const {
    const std::optional<Edit> one = as_one(a, b);
    return one ? one : as_one(b, a);
  }

  std::optional<Edit> as_one(const Edit& a, const Edit& b) const {
    if (a.rank != b.rank || !a.node) return std::nullopt;
    const auto is = [](const Edit& edit, Edit::Kind kind) { return edit.kind == kind; };
    if (is(a, Edit::Kind::kRemove) && is(b, Edit::Kind::kAdd)) {
      Operation moved = operation_of(job_, a.rank, *a.node);
      moved.group = b.operation.group;
      moved.root = b.operation.root;
      if (moved == b.operation) return Edit{Edit::Kind::kChange, a.rank, a.node, {}, moved};
    }
    if (is(a, Edit::Kind::kChange) && is(b, Edit::Kind::kChange) &&
        a.operation == operation_of(job_, b.rank, *b.node) && b.operation == operation_of(job_, a.rank, *a.node))
      return Edit{Edit::Kind::kSwap, a.rank, a.node, b.node, {}};
    return std::nullopt;
  }

  const Job& job_;
};

// One way of each, in all combinations while they are few; else the likeliest of the later ones. Fewest edits first.
std::vector<Edits> combinations(const Job& job, std::span<const Alternatives> all) {
  constexpr std::size_t kMost = 256;
  std::vector<Edits> combined{{}};
  for (const Alternatives& alternatives : all) {
    const std::size_t ways = combined.size() * alternatives.size() <= kMost ? alternatives.size() : 1;
    std::vector<Edits> longer;
    for (const Edits& edits : combined)
      for (std::size_t way = 0; way < ways; ++way) {
        longer.push_back(edits);
        longer.back().insert(longer.back().end(), alternatives[way].begin(), alternatives[way].end());
      }
    combined = std::move(longer);
  }
  constexpr std::size_t kMostMerged = 1024;  // edits: each is compared with each
  for (Edits& edits : combined)
    if (edits.size() <= kMostMerged) edits = Merger(job).merge(std::move(edits));
  std::ranges::stable_sort(combined, {}, &Edits::size);
  return combined;
}

// Exchanges of two nodes of communication of which one is near a node that the edits name.
std::vector<Edits> swaps_near(const Job& job, std::span<const Edits> combined) {
  constexpr std::size_t kRanks = 4, kReach = 6;
  std::map<RankId, std::set<NodeId>> named;
  for (const Edits& edits : combined)
    for (const Edit& edit : edits)
      for (const std::optional<NodeId> node : {edit.node, edit.other})
        if (node && (named.size() < kRanks || named.contains(edit.rank))) named[edit.rank].insert(*node);
  std::vector<std::pair<std::size_t, Edit>> swaps;  // by distance
  for (const auto& [rank, nodes] : named) {
    std::vector<NodeId> all;
    for (const NodeId node : job.graph(rank).order())
      if (is_communication(job.graph(rank).kind(node))) all.push_back(node);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i + 1; j < std::min(all.size(), i + 1 + kReach); ++j)
        if ((nodes.contains(all[i]) || nodes.contains(all[j])) &&
            operation_of(job, rank, all[i]) != operation_of(job, rank, all[j]))
          swaps.emplace_back(j - i, Edit{Edit::Kind::kSwap, rank, all[i], all[j], {}});
  }
  std::ranges::stable_sort(swaps, {}, &std::pair<std::size_t, Edit>::first);
  std::vector<Edits> edits;
  for (const auto& [distance, swap] : swaps) edits.push_back({swap});
  return edits;
}

// Returns the smallest of `candidates` that let all ranks finish. They are ascending in their number of edits.
std::vector<Mending> tried(Trials& trials, std::span<const Edits> candidates) {
  constexpr std::size_t kTried = 64;
  std::vector<Mending> mendings;
  for (std::size_t i = 0; i < std::min(kTried, candidates.size()) && mendings.size() < kMendings; ++i) {
    if (!mendings.empty() && candidates[i].size() > mendings.front().edits.size()) break;
    if (!trials.may_try()) break;
    if (std::optional<Mending> mending = trials.mending(candidates[i])) mendings.push_back(*std::move(mending));
  }
  return mendings;
}

}  // namespace

std::vector<Mending> mend_disagreement(const Job& job, std::span<const GroupId> groups, std::span<const Route> routes) {
  if (has_repetitions(job) || groups.size() + routes.size() > kMostThings) return {};
  std::size_t left = std::size_t{1} << 26;
  std::vector<Alternatives> all;
  for (const GroupId group : groups) all.push_back(mend_calls(job, group, left));
  for (Alternatives& alternatives : mend_transfers(job, routes, left)) all.push_back(std::move(alternatives));
  const auto is_unknown = [](const Alternatives& alternatives) { return alternatives.empty(); };
  if (all.empty() || all.size() > kMostThings || std::ranges::any_of(all, is_unknown)) return {};
  const std::vector<Edits> combined = combinations(job, all);
  Trials trials(job, {});
  const bool may_try = trials.may_try();
  std::vector<Mending> mendings = tried(trials, combined);
  if (may_try && (mendings.empty() || mendings.front().edits.size() > 1))
    if (std::vector<Mending> swaps = tried(trials, swaps_near(job, combined)); !swaps.empty())
      mendings = std::move(swaps);
  if (mendings.empty()) mendings.push_back({combined.front(), false, 0});
  std::ranges::stable_sort(mendings, std::greater(), &Mending::alike);
  return mendings;
}

namespace {

// "ranks 4-7: remove node 3", with what several ranks have in common said once.
std::string to_text(const Job& job, std::span<const Edit> edits) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> by_text;
  for (const Edit& edit : edits) {
    const std::string text = to_text(job, edit);
    const auto known = std::ranges::find(by_text, text, &std::pair<std::string, std::vector<std::uint32_t>>::first);
    if (known == by_text.end())
      by_text.push_back({text, {index_of(edit.rank)}});
    else
      known->second.push_back(index_of(edit.rank));
  }
  constexpr std::size_t kShown = 3;
  std::string all;
  for (std::size_t i = 0; i < std::min(kShown, by_text.size()); ++i) {
    std::ranges::sort(by_text[i].second);
    all += fmt::format("{}{}: {}", i == 0 ? "" : "; ", rank_list(by_text[i].second), by_text[i].first);
  }
  if (by_text.size() > kShown) all += fmt::format("; and {} more", by_text.size() - kShown);
  return all;
}

}  // namespace

std::vector<Proposal> proposals(const Job& job, std::span<const Mending> mendings) {
  std::vector<Proposal> all;
  for (const Mending& mending : mendings) {
    Proposal& proposal = all.emplace_back();
    proposal.is_tried = mending.is_tried;
    for (const Edit& edit : mending.edits) {
      const NodeLabels& labels = job.labels_of(edit.rank);
      ProposedEdit& proposed = proposal.edits.emplace_back();
      proposed.kind = name_of(edit.kind);
      proposed.rank = index_of(edit.rank);
      if (edit.node) proposed.node = labels.trace_id(*edit.node);
      if (edit.other) proposed.other = labels.trace_id(*edit.other);
      proposed.text = to_text(job, edit);
    }
  }
  return all;
}

std::vector<std::string> to_lines(const Job& job, std::span<const Mending> mendings) {
  if (mendings.empty()) return {};
  const Mending& first = mendings.front();
  std::vector<std::string> lines;
  for (const Mending& mending : mendings) {
    std::string text = to_text(job, std::span<const Edit>(mending.edits));
    if (mending.alike > 0)
      text += fmt::format(" (as {} {})", counted(static_cast<std::uint64_t>(mending.alike), "other rank"),
                          mending.alike == 1 ? "does" : "do");
    if (std::ranges::find(lines, text) == lines.end()) lines.push_back(text);
  }
  lines.insert(lines.begin(), fmt::format("{} {}{}:",
                                          first.is_tried ? "all ranks finish (tried) with"
                                                         : "the ranks agree (the rest not tried, or in vain) with",
                                          counted(first.edits.size(), "edit"), lines.size() > 1 ? ", one of" : ""));
  return lines;
}

}  // namespace orrery::workload
