#include "workload/match_collectives.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/rank_list.h"

namespace orrery {
namespace {

bool may_differ_in_bytes(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

// One member's calls on the communicator, in order. The slot is missing where it never calls.
struct Caller {
  RankId rank{};
  std::optional<std::uint32_t> slot;
};

// What one member asks for in one call.
struct Request {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  std::uint32_t root = 0;

  auto operator<=>(const Request&) const = default;

  // The members' requests can be one operation.
  bool agrees_with(const Request& other) const {
    return kind == other.kind && root == other.root && (bytes == other.bytes || may_differ_in_bytes(kind));
  }
};

class CommunicatorMatcher {
 public:
  CommunicatorMatcher(const Job& job, GroupId group, std::vector<Caller> callers)
      : job_(job), group_(group), callers_(std::move(callers)) {}

  std::vector<CollectiveCall> calls(DisagreementReport& report) const {
    std::vector<CollectiveCall> result;
    const std::vector<std::size_t> different = first_of_each_program();
    std::size_t longest = 0;
    for (const std::size_t i : different) longest = std::max(longest, calls_of(callers_[i]).size());
    for (std::size_t k = 0; k < longest; ++k) {
      if (!all_agree(different, k)) {
        report.add(describe_disagreement(k));
        return {};
      }
      result.push_back(call(different, k));
    }
    return result;
  }

 private:
  std::span<const NodeId> calls_of(const Caller& caller) const {
    if (!caller.slot) return {};
    return job_.graph(caller.rank).calls(*caller.slot);
  }

  Request request(const Caller& caller, NodeId node) const {
    const ExecutionGraph& graph = job_.graph(caller.rank);
    return {graph.collective_kind(node), graph.bytes(node), job_.root(caller.rank, node)};
  }

  // Members that run the same graph, and see the communicator at the same slot, ask for the same.
  std::vector<std::size_t> first_of_each_program() const {
    std::vector<std::size_t> result;
    std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, std::size_t> seen;
    for (std::size_t i = 0; i < callers_.size(); ++i) {
      const RankBinding& binding = job_.ranks[index_of(callers_[i].rank)];
      const bool has_roots = !binding.roots.empty();
      if (has_roots || seen.try_emplace({binding.graph, callers_[i].slot}, i).second) result.push_back(i);
    }
    return result;
  }

  bool all_agree(const std::vector<std::size_t>& members, std::size_t k) const {
    std::optional<Request> first;
    for (const std::size_t i : members) {
      const std::span<const NodeId> calls = calls_of(callers_[i]);
      if (k >= calls.size()) return false;
      const Request next = request(callers_[i], calls[k]);
      if (first && !first->agrees_with(next)) return false;
      if (!first) first = next;
    }
    return true;
  }

  CollectiveCall call(const std::vector<std::size_t>& different, std::size_t k) const {
    const Request first = request(callers_[0], calls_of(callers_[0])[k]);
    CollectiveCall result{first.kind, first.bytes, first.root, {}};
    for (const std::size_t i : different) {
      const Bytes bytes = request(callers_[i], calls_of(callers_[i])[k]).bytes;
      if (bytes == first.bytes) continue;
      for (const Caller& caller : callers_) {
        result.bytes_of_member.push_back(job_.graph(caller.rank).bytes(calls_of(caller)[k]));
        result.bytes = std::max(result.bytes, result.bytes_of_member.back());
      }
      break;
    }
    return result;
  }

  std::string describe(const Request& request) const {
    std::string text = fmt::format("{} of {} bytes", name_of(request.kind), request.bytes.count());
    const Communicator& group = job_.communicators[index_of(group_)];
    if (request.root > 0) text += fmt::format(" from root rank {}", index_of(group.members[request.root]));
    return text;
  }

  std::string describe_disagreement(std::size_t k) const {
    // Who asks for what, and who does not come; by the lowest rank among them.
    std::map<Request, std::vector<std::uint32_t>> asking;
    std::map<std::size_t, std::vector<std::uint32_t>> absent;  // by how many calls they make
    std::map<std::uint32_t, NodeId> node_of;
    for (const Caller& caller : callers_) {
      const std::span<const NodeId> calls = calls_of(caller);
      if (k >= calls.size()) {
        absent[calls.size()].push_back(index_of(caller.rank));
      } else {
        asking[request(caller, calls[k])].push_back(index_of(caller.rank));
        node_of[index_of(caller.rank)] = calls[k];
      }
    }
    std::map<std::uint32_t, std::string> lines;
    for (auto& [request, ranks] : asking) {
      std::ranges::sort(ranks);
      const RankId first{ranks[0]};
      lines[ranks[0]] = fmt::format("\n    {} with {}: {}{}", rank_list(ranks), describe(request),
                                    job_.describe(first, node_of[ranks[0]]),
                                    ranks.size() > 1 ? fmt::format(" (on rank {})", ranks[0]) : "");
    }
    for (auto& [count, ranks] : absent) {
      std::ranges::sort(ranks);
      lines[ranks[0]] =
          fmt::format("\n    {} never: {} on this communicator", rank_list(ranks),
                      count == 0 ? "no call" : fmt::format("only {} call{}", count, count == 1 ? "" : "s"));
    }

    std::string text = fmt::format("  communicator \"{}\" ({}), call {}; arriving are",
                                   printable(job_.communicators[index_of(group_)].name, 40), members(), k + 1);
    constexpr std::size_t kLinesShown = 6;
    std::size_t shown = 0;
    for (const auto& [rank, line] : lines) {
      if (shown++ == kLinesShown) {
        text += fmt::format("\n    ... and {} other groups of ranks", lines.size() - kLinesShown);
        break;
      }
      text += line;
    }
    if (absent.empty() && only_order_differs())
      text += "\n    all members make the same calls, but in different orders";
    return text;
  }

  std::string members() const {
    std::vector<std::uint32_t> ranks;
    for (const Caller& caller : callers_) ranks.push_back(index_of(caller.rank));
    std::ranges::sort(ranks);
    return rank_list(ranks);
  }

  bool only_order_differs() const {
    std::optional<std::vector<Request>> first;
    for (const std::size_t i : first_of_each_program()) {
      std::vector<Request> requests;
      for (const NodeId node : calls_of(callers_[i])) requests.push_back(request(callers_[i], node));
      std::ranges::sort(requests);
      if (first && *first != requests) return false;
      if (!first) first = std::move(requests);
    }
    return true;
  }

  const Job& job_;
  GroupId group_;
  std::vector<Caller> callers_;  // one for each member, in its order
};

}  // namespace

std::vector<std::vector<CollectiveCall>> match_collectives(const Job& job, DisagreementReport& report) {
  std::vector<std::map<RankId, std::uint32_t>> slots(job.communicators.size());
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::vector<GroupId>& communicators = job.ranks[rank].communicators;
    for (std::uint32_t slot = 0; slot < communicators.size(); ++slot)
      slots[index_of(communicators[slot])][RankId(rank)] = slot;
  }

  std::vector<std::vector<CollectiveCall>> result(job.communicators.size());
  for (std::uint32_t group = 0; group < slots.size(); ++group) {
    if (slots[group].empty()) continue;
    std::vector<Caller> callers;
    for (const RankId rank : job.communicators[group].members) {
      const auto slot = slots[group].find(rank);
      callers.push_back({rank, slot == slots[group].end() ? std::nullopt : std::optional(slot->second)});
    }
    result[group] = CommunicatorMatcher(job, GroupId(group), std::move(callers)).calls(report);
  }
  return result;
}

}  // namespace orrery
