// SPDX-License-Identifier: MIT
#include "astra/answer/custom_uses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::astra {
namespace {

// Every kind of call once: by operation and number of ranks, which schedules there are; "" of an algorithm.
using Schedules = std::map<std::pair<CommKind, std::uint32_t>, std::set<std::string>>;

class Calls {
 public:
  Calls(const Inputs& inputs, const Job& job) : inputs_(inputs), job_(job) {
    std::set<std::pair<std::uint32_t, std::vector<std::uint64_t>>> seen;
    for (const RankProgram& rank : job.ranks)
      if (seen.emplace(rank.program, rank.groups).second) add(rank);
  }

  const Schedules& schedules() const { return schedules_; }
  const std::map<CommKind, std::set<std::uint64_t>>& bytes() const { return bytes_; }

 private:
  void add(const RankProgram& rank) {
    for (const Node& node : job_.programs[rank.program].nodes) {
      if (node.kind != NodeKind::kCollective || node.comm == CommKind::kBroadcast) continue;
      const std::uint64_t group = rank.groups.empty() ? 0 : rank.groups[node.slot];
      const auto size = group == 0 ? inputs_.network.npus : static_cast<std::uint32_t>(inputs_.groups.at(group).size());
      const std::string& own = inputs_.system.implementations[static_cast<std::size_t>(node.comm)].custom;
      schedules_[{node.comm, size}].insert(node.custom > 0 ? job_.custom_prefixes[node.custom - 1] : own);
      bytes_[node.comm].insert(node.bytes);
    }
  }

  const Inputs& inputs_;
  const Job& job_;
  Schedules schedules_;
  std::map<CommKind, std::set<std::uint64_t>> bytes_;
};

bool computes(const std::string& prefix, std::uint32_t ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::uint32_t> peers;
    const Program program = read_custom(trace_of(prefix, rank), rank, peers);
    const auto takes_time = [](const Node& node) { return node.kind == NodeKind::kCompute && node.duration > 1; };
    if (std::ranges::any_of(program.nodes, takes_time)) return true;
  }
  return false;
}

void refuse_larger(const std::string& prefix, std::uint32_t ranks, CommKind comm) {
  const std::string next = trace_of(prefix, ranks);
  std::error_code code;
  if (!std::filesystem::exists(next, code)) return;
  throw InputError({next},
                   fmt::format("is a part of a custom {} of more ranks than the {} that call it: ASTRA-sim reads the "
                               "first ones, and an experiment runs it on groups of all of them only",
                               name_of(comm), ranks),
                   fmt::format("copy the parts of ranks 0 to {} to a prefix of their own", ranks - 1));
}

// The schedule of calls on groups of one size; "" if an algorithm does them.
std::string only_schedule(const Inputs& inputs, CommKind comm, std::uint32_t ranks, const std::set<std::string>& all) {
  if (all.size() == 1) return *all.begin();
  std::string names;
  for (const std::string& prefix : all)
    names += (names.empty() ? "" : ", ") + (prefix.empty() ? "an algorithm" : printable(prefix, 100));
  throw InputError(inputs.system.where("per-node-custom-implementation"),
                   fmt::format("gives the {}s of {} ranks different schedules ({}), and an experiment has one for all "
                               "calls of an operation by groups of one size",
                               name_of(comm), ranks, names),
                   "convert with one of them for all nodes");
}

}  // namespace

std::map<CommKind, CustomUse> custom_uses(const Inputs& inputs, const Job& job) {
  const Calls calls(inputs, job);
  std::map<CommKind, CustomUse> uses;
  std::map<CommKind, std::uint32_t> without;  // a size of groups that run an algorithm
  for (const auto& [call, schedules] : calls.schedules()) {
    const auto& [comm, ranks] = call;
    const std::string prefix = only_schedule(inputs, comm, ranks, schedules);
    if (prefix.empty()) {
      without[comm] = ranks;
      continue;
    }
    refuse_larger(prefix, ranks, comm);
    CustomUse& use = uses[comm];
    use.prefix_of_size[ranks] = prefix;
    use.bytes = calls.bytes().at(comm);
    use.computes = use.computes || computes(prefix, ranks);
  }
  for (const auto& [comm, ranks] : without)
    if (uses.contains(comm))
      throw InputError(inputs.system.where("per-node-custom-implementation"),
                       fmt::format("gives some {}s a schedule, and those of {} ranks run an algorithm: an experiment "
                                   "has files for an operation, or algorithms",
                                   name_of(comm), ranks),
                       "give all of them a schedule, or none");
  return uses;
}

CollectiveKind collective_kind(CommKind kind) {
  using enum CollectiveKind;
  constexpr std::array kKinds = {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast};
  return kKinds[static_cast<std::size_t>(kind)];
}

std::vector<std::string> prefixes_of(const CustomUse& use) {
  std::vector<std::string> prefixes;
  for (const auto& [ranks, prefix] : use.prefix_of_size)
    if (std::ranges::find(prefixes, prefix) == prefixes.end()) prefixes.push_back(prefix);
  return prefixes;
}

std::uint64_t common_size(const std::map<CommKind, CustomUse>& uses) {
  std::set<std::uint64_t> sizes;
  for (const auto& [comm, use] : uses) sizes.insert(use.bytes.begin(), use.bytes.end());
  return sizes.size() == 1 ? *sizes.begin() : 0;
}

}  // namespace orrery::astra
