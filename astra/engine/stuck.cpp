// SPDX-License-Identifier: MIT
#include "astra/engine/stuck.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace orrery::astra {
namespace {

std::string describe(const Rank& rank, const RankProgram& own, std::uint32_t index) {
  const Node& node = rank.program().nodes[index];
  if (node.kind == NodeKind::kCollective) {
    const std::uint64_t group = own.groups.empty() ? 0 : own.groups[node.slot];
    return fmt::format("node {}, {} of {} bytes{}", node.id, name_of(node.comm), node.bytes,
                       group == 0 ? "" : fmt::format(" in group {}", group));
  }
  if (node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive)
    return fmt::format("node {}, {} {} rank {} of {} bytes with tag {}", node.id, name_of(node.kind),
                       node.kind == NodeKind::kSend ? "to" : "from", own.peers[node.slot], node.bytes, node.tag);
  return fmt::format("node {}, {}", node.id, name_of(node.kind));
}

// The first call of a group in which two of its ranks differ.
std::string disagreement(const Job& job, const Cast& cast, std::span<const Rank> ranks) {
  struct First {
    const Rank* rank;
    std::uint32_t number;
    std::uint32_t node;
  };
  std::map<std::pair<std::uint64_t, std::size_t>, First> firsts;  // by group and place in its order
  std::string text;
  std::size_t earliest = SIZE_MAX;
  for (std::uint32_t number = 0; number < job.ranks.size(); ++number) {
    const Rank& rank = ranks[cast.agent_of(number)];
    std::map<std::uint64_t, std::size_t> places;
    for (const Call& call : rank.calls()) {
      const std::size_t place = places[call.group]++;
      const auto [found, is_new] = firsts.try_emplace({call.group, place}, First{&rank, number, call.node});
      if (is_new || place >= earliest) continue;
      const Node& node = rank.program().nodes[call.node];
      const First& first = found->second;
      const Node& other = first.rank->program().nodes[first.node];
      if (node.comm == other.comm && node.bytes == other.bytes) continue;
      earliest = place;
      text = fmt::format("\n  Call {} of {}: rank {} has {},\n    but rank {} has {}.", place + 1,
                         call.group == 0 ? "all ranks" : fmt::format("group {}", call.group), first.number,
                         describe(*first.rank, job.ranks[first.number], first.node), number,
                         describe(rank, job.ranks[number], call.node));
    }
  }
  return text;
}

}  // namespace

std::optional<StuckError> stuck_error(const Inputs& inputs, const Job& job, const Cast& cast,
                                      std::span<const Rank> ranks) {
  constexpr std::size_t kMostListed = 4;
  std::vector<std::uint32_t> unfinished;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    if (!ranks[cast.agent_of(rank)].finished()) unfinished.push_back(rank);
  if (unfinished.empty()) return std::nullopt;
  std::string text = fmt::format("{} of {} ranks never finish (ASTRA-sim ends with exit code 0 here)",
                                 unfinished.size(), job.ranks.size());
  std::string first_node;
  bool passed_over = false;
  for (std::size_t i = 0; i < std::min(unfinished.size(), kMostListed); ++i) {
    const std::uint32_t number = unfinished[i];
    const Rank& rank = ranks[cast.agent_of(number)];
    const RankProgram& own = job.ranks[number];
    const std::vector<std::uint32_t> running = rank.running();
    const std::vector<std::uint32_t> left = rank.passed_over();
    if (!running.empty()) {
      text += fmt::format("\n  rank {} waits in {}", number, describe(rank, own, running.front()));
    } else if (!left.empty()) {
      passed_over = true;
      text += fmt::format("\n  rank {} never looks at {}", number, describe(rank, own, left.front()));
    } else {
      text += fmt::format("\n  rank {} has nothing left to do", number);
    }
    if (first_node.empty() && !(running.empty() && left.empty()))
      first_node = fmt::format("node {}", rank.program().nodes[running.empty() ? left.front() : running.front()].id);
  }
  if (unfinished.size() > kMostListed) text += fmt::format("\n  and {} more", unfinished.size() - kMostListed);
  text += disagreement(job, cast, ranks);
  if (passed_over)
    text +=
        "\n  ASTRA-sim skips an INVALID node, or one with tensor_size 0 under the roofline, and does not look at\n"
        "  what follows until something else happens on the rank. Leave such nodes out.";
  text += fmt::format("\n  traces: {}.<rank>.et", printable(inputs.flags.workload));
  return StuckError(text, unfinished.front(), first_node);
}

}  // namespace orrery::astra
