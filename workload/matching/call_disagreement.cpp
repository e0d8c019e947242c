#include "workload/matching/call_disagreement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/graph/rank_list.h"

namespace orrery {
namespace {

// The lines of one call, each by the lowest rank in it.
using Lines = std::map<std::uint32_t, std::string>;

class Disagreement {
 public:
  Disagreement(const Job& job, GroupId group, const Callers& callers, std::span<const std::uint32_t> kinds)
      : job_(job), communicator_(job.communicators[index_of(group)]), callers_(callers), kinds_(kinds) {}

  std::string text(std::size_t call) const {
    Lines lines;
    add_asking(call, lines);
    const bool all_ask = !add_absent(call, lines);
    std::string text = fmt::format("  communicator \"{}\" ({}), call {}; arriving are",
                                   printable(communicator_.name, 40), members(), call + 1);
    constexpr std::size_t kLinesShown = 6;
    std::size_t shown = 0;
    for (const auto& [rank, line] : lines) {
      if (shown++ == kLinesShown) {
        text += fmt::format("\n    ... and {} other groups of ranks", lines.size() - kLinesShown);
        break;
      }
      text += line;
    }
    if (all_ask && only_order_differs()) text += "\n    all members make the same calls, but in different orders";
    return text;
  }

 private:
  const CallerKind& caller(std::size_t member) const { return callers_[kinds_[member]]; }

  void add_asking(std::size_t call, Lines& lines) const {
    std::map<CallRequest, std::vector<std::uint32_t>> asking;
    std::map<std::uint32_t, NodeId> node_of;
    for (std::size_t member = 0; member < kinds_.size(); ++member) {
      if (call >= caller(member).calls.size()) continue;
      const std::uint32_t rank = index_of(communicator_.members[member]);
      asking[caller(member).request(call)].push_back(rank);
      node_of[rank] = caller(member).calls[call];
    }
    for (auto& [request, ranks] : asking) {
      std::ranges::sort(ranks);
      lines[ranks[0]] = fmt::format("\n    {} with {}: {}{}", rank_list(ranks), describe(request),
                                    job_.describe(RankId(ranks[0]), node_of[ranks[0]]),
                                    ranks.size() > 1 ? fmt::format(" (on rank {})", ranks[0]) : "");
    }
  }

  // Whether there are any.
  bool add_absent(std::size_t call, Lines& lines) const {
    std::map<std::size_t, std::vector<std::uint32_t>> absent;  // by how many calls they make
    for (std::size_t member = 0; member < kinds_.size(); ++member) {
      const std::size_t calls = caller(member).calls.size();
      if (call >= calls) absent[calls].push_back(index_of(communicator_.members[member]));
    }
    for (auto& [count, ranks] : absent) {
      std::ranges::sort(ranks);
      lines[ranks[0]] =
          fmt::format("\n    {} never: {} on this communicator", rank_list(ranks),
                      count == 0 ? "no call" : fmt::format("only {} call{}", count, count == 1 ? "" : "s"));
    }
    return !absent.empty();
  }

  std::string describe(const CallRequest& request) const {
    std::string text = fmt::format("{} of {} bytes", name_of(request.kind), request.bytes.count());
    if (request.root > 0) text += fmt::format(" from root rank {}", index_of(communicator_.members[request.root]));
    return text;
  }

  std::string members() const {
    std::vector<std::uint32_t> ranks;
    for (const RankId rank : communicator_.members) ranks.push_back(index_of(rank));
    std::ranges::sort(ranks);
    return rank_list(ranks);
  }

  bool only_order_differs() const {
    std::optional<std::vector<CallRequest>> first;
    for (const std::uint32_t kind : distinct_kinds(kinds_)) {
      std::vector<CallRequest> requests;
      for (std::size_t call = 0; call < callers_[kind].calls.size(); ++call)
        requests.push_back(callers_[kind].request(call));
      std::ranges::sort(requests);
      if (first && *first != requests) return false;
      if (!first) first = std::move(requests);
    }
    return true;
  }

  const Job& job_;
  const Communicator& communicator_;
  const Callers& callers_;
  std::span<const std::uint32_t> kinds_;
};

}  // namespace

std::vector<std::uint32_t> distinct_kinds(std::span<const std::uint32_t> kinds) {
  std::vector<std::uint32_t> distinct;
  std::unordered_set<std::uint32_t> seen;
  for (const std::uint32_t kind : kinds)
    if (seen.insert(kind).second) distinct.push_back(kind);
  return distinct;
}

std::string describe_disagreement(const Job& job, GroupId group, const Callers& callers,
                                  std::span<const std::uint32_t> kinds, std::size_t call) {
  return Disagreement(job, group, callers, kinds).text(call);
}

}  // namespace orrery
