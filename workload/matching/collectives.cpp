// SPDX-License-Identifier: MIT
// Matching of collectives: the k-th call of every member of a communicator is one operation.
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "workload/graph/content_pool.h"
#include "workload/graph/rank_list.h"
#include "workload/matching/disagreement.h"

namespace orrery::workload {
namespace {

// Request of a caller in one call.
struct CallRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;
  std::uint32_t root = 0;  // position among the members

  auto operator<=>(const CallRequest&) const = default;
};

struct CallerKind {
  const ExecutionGraph* graph = nullptr;
  std::span<const NodeId> calls;     // on the communicator, in order; of members that never call, empty
  std::vector<std::uint32_t> roots;  // by call; empty: all zero

  CallRequest request(std::size_t call) const {
    const NodeId node = calls[call];
    return {graph->collective_kind(node), graph->bytes(node), roots.empty() ? 0 : roots[call]};
  }
};

// Callers on a communicator. Members whose graph, slot and roots are the same ask for the same in all their calls: they
// are callers of one kind.
class Callers {
 public:
  // `job` outlives it.
  explicit Callers(const Job& job) : job_(job), kinds_(1) {
    for (const ExecutionGraph& graph : job.graphs) {
      first_of_graph_.push_back(static_cast<std::uint32_t>(kinds_.size()));
      for (std::uint32_t slot = 0; slot < graph.communicator_slots(); ++slot)
        kinds_.push_back({&graph, graph.calls(slot), {}});
    }
    collect_bindings();
  }

  // The kind of every member of the communicator, in its order.
  std::vector<std::uint32_t> kinds_of(GroupId group) {
    const Communicator& communicator = job_.communicators[index_of(group)];
    std::vector<std::uint32_t> kinds;
    kinds.reserve(communicator.members.size());
    Positions positions;
    for (const RankId rank : communicator.members) {
      const std::uint32_t graph = job_.ranks.graph(index_of(rank));
      const std::optional<std::uint32_t> slot = slot_of(rank, group);
      const bool calls = slot && *slot < job_.graphs[graph].communicator_slots();
      kinds.push_back(calls ? first_of_graph_[graph] + *slot : kNeverCalls);
      const RankDetails& details = job_.ranks.details(index_of(rank));
      if (!calls || details.roots.empty()) continue;
      if (positions.empty()) positions = positions_of(communicator);
      std::vector<std::uint32_t> roots = roots_of(details, kinds_[kinds.back()], positions);
      if (roots.empty()) continue;
      const auto [known, is_new] =
          rooted_.try_emplace({kinds.back(), roots}, static_cast<std::uint32_t>(kinds_.size()));
      if (is_new) kinds_.push_back({kinds_[kinds.back()].graph, kinds_[kinds.back()].calls, std::move(roots)});
      kinds.back() = known->second;
    }
    return kinds;
  }

  const CallerKind& operator[](std::uint32_t kind) const { return kinds_[kind]; }

 private:
  static constexpr std::uint32_t kNeverCalls = 0;

  struct Binding {
    RankId rank{};
    std::uint32_t slot = 0;
  };
  using Positions = std::vector<std::pair<RankId, std::uint32_t>>;  // among the members, by rank

  void collect_bindings() {
    if (job_.ranks.period().any()) return;
    first_of_group_.resize(job_.communicators.size() + 1);
    for (const RankBinding& binding : job_.ranks)
      for (const GroupId group : binding.communicators) ++first_of_group_[index_of(group) + 1];
    for (std::size_t group = 1; group < first_of_group_.size(); ++group)
      first_of_group_[group] += first_of_group_[group - 1];
    bindings_.resize(first_of_group_.back());
    std::vector<std::size_t> next = first_of_group_;
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const IdList<GroupId>& communicators = job_.ranks[rank].communicators;
      for (std::uint32_t slot = 0; slot < communicators.size(); ++slot)
        bindings_[next[index_of(communicators[slot])]++] = {RankId(rank), slot};
    }
  }

  // Ranks of a job with a period have few slots, each of another group.
  std::optional<std::uint32_t> slot_of(RankId rank, GroupId group) const {
    if (job_.ranks.period().any()) {
      const std::uint32_t slot = job_.ranks.slot_of(index_of(rank), group);
      return slot < job_.ranks.communicator_count(index_of(rank)) ? std::optional(slot) : std::nullopt;
    }
    const std::size_t first = first_of_group_[index_of(group)];
    const auto of_group = std::span(bindings_).subspan(first, first_of_group_[index_of(group) + 1] - first);
    const auto after = std::ranges::upper_bound(of_group, rank, {}, &Binding::rank);
    if (after == of_group.begin() || std::prev(after)->rank != rank) return std::nullopt;
    return std::prev(after)->slot;
  }

  static Positions positions_of(const Communicator& communicator) {
    Positions positions;
    for (std::uint32_t i = 0; i < communicator.members.size(); ++i) positions.emplace_back(communicator.members[i], i);
    std::ranges::sort(positions);
    return positions;
  }

  // Roots by call; empty where all are the first member, as without roots.
  static std::vector<std::uint32_t> roots_of(const RankDetails& details, const CallerKind& caller,
                                             const Positions& positions) {
    std::vector<std::uint32_t> roots;
    for (const NodeId node : caller.calls) {
      const std::int64_t root = details.roots[caller.graph->collective_index(node)];
      std::uint32_t& position = roots.emplace_back(0);
      if (root < 0) continue;
      const RankId rank{static_cast<std::uint32_t>(root)};
      const auto found = std::ranges::lower_bound(positions, rank, {}, &Positions::value_type::first);
      if (found != positions.end() && found->first == rank) position = found->second;
    }
    if (std::ranges::all_of(roots, [](std::uint32_t position) { return position == 0; })) roots.clear();
    return roots;
  }

  const Job& job_;
  std::vector<CallerKind> kinds_;              // 0: never calls; then those without roots, by graph and slot
  std::vector<std::uint32_t> first_of_graph_;  // into kinds_
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> rooted_;  // by kind without, and roots
  std::vector<std::size_t> first_of_group_{0};                                            // into bindings_, by GroupId
  std::vector<Binding> bindings_;                                                         // group after group, by rank
};

// Each of `kinds` once, in the order in which they come.
std::vector<std::uint32_t> distinct_kinds(std::span<const std::uint32_t> kinds) {
  std::vector<std::uint32_t> distinct;
  std::unordered_set<std::uint32_t> seen;
  for (const std::uint32_t kind : kinds)
    if (seen.insert(kind).second) distinct.push_back(kind);
  return distinct;
}

// The lines of one call, each by the lowest rank in it.
using Lines = std::map<std::uint32_t, std::string>;

class Disagreement {
 public:
  Disagreement(const Job& job, GroupId group, const Callers& callers, std::span<const std::uint32_t> kinds)
      : job_(job), communicator_(job.communicators[index_of(group)]), callers_(callers), kinds_(kinds) {}

  std::string text(std::size_t call) const {
    Lines lines;
    add_asking(call, lines);
    const std::uint32_t first_asking = lines.begin()->first;
    const bool all_ask = !add_absent(call, RankId(first_asking), lines);
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
    if (!communicator_.source.empty() && has_silent_member(RankId(first_asking)))
      text += fmt::format("\n    {} lists these members; they may be too many", printable(communicator_.source));
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

  // Adds lines for members that do not make the call; true if there are any. `asking` is a rank that makes it.
  bool add_absent(std::size_t call, RankId asking, Lines& lines) const {
    std::map<std::size_t, std::vector<std::uint32_t>> absent;  // by how many calls they make
    for (std::size_t member = 0; member < kinds_.size(); ++member) {
      const std::size_t calls = caller(member).calls.size();
      if (call >= calls) absent[calls].push_back(index_of(communicator_.members[member]));
    }
    for (auto& [count, ranks] : absent) {
      std::ranges::sort(ranks);
      lines[ranks[0]] =
          fmt::format("\n    {} never: {} on this communicator{}", rank_list(ranks),
                      count == 0 ? "no call" : fmt::format("only {} call{}", count, count == 1 ? "" : "s"),
                      early_end(job_, RankId(ranks[0]), asking));
    }
    return !absent.empty();
  }

  std::string describe(const CallRequest& request) const {
    std::string text = fmt::format("{} of {} bytes", name_of(request.kind), request.bytes.count());
    if (has_root(request.kind))
      text += fmt::format(" {} root rank {}", is_to_root(request.kind) ? "to" : "from",
                          index_of(communicator_.members[request.root]));
    return text;
  }

  std::string members() const {
    std::vector<std::uint32_t> ranks;
    for (const RankId rank : communicator_.members) ranks.push_back(index_of(rank));
    std::ranges::sort(ranks);
    return rank_list(ranks);
  }

  // One that never calls although its trace is as long as others are.
  bool has_silent_member(RankId asking) const {
    for (std::size_t member = 0; member < kinds_.size(); ++member)
      if (caller(member).calls.empty() && early_end(job_, communicator_.members[member], asking).empty()) return true;
    return false;
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

using Kinds = std::vector<std::uint32_t>;  // of callers

struct HashOfKinds {
  std::size_t operator()(const Kinds& kinds) const {
    ContentDigest digest;
    digest.add_column(kinds);
    return digest.value();
  }
};

struct CallList {
  std::vector<CollectiveCall> calls;

  bool operator==(const CallList&) const = default;
  std::uint64_t content_hash() const {
    ContentDigest digest;
    for (const CollectiveCall& call : calls) {
      digest.add(
          hash_of({static_cast<std::uint64_t>(call.kind), static_cast<std::uint64_t>(call.bytes.count()), call.root}));
      digest.add(call.bytes_of_member.size());
      for (const Bytes bytes : call.bytes_of_member.span()) digest.add(static_cast<std::uint64_t>(bytes.count()));
    }
    return digest.value();
  }
};

// Calls that members of the same kinds agree on, in whatever communicator.
struct Agreement {
  CallList list;
  std::optional<std::size_t> disagreed;  // the first call about which they disagree
};

bool agree(const CallRequest& a, const CallRequest& b) {
  return a.root == b.root && can_be_one(a.kind, a.bytes, b.kind, b.bytes);
}

class CallMatcher {
 public:
  CallMatcher(const Callers& callers, std::span<const std::uint32_t> kinds)
      : callers_(callers), kinds_(kinds), distinct_(distinct_kinds(kinds)) {}

  Agreement match() const {
    Agreement agreement;
    std::size_t longest = 0;
    for (const std::uint32_t kind : distinct_) longest = std::max(longest, callers_[kind].calls.size());
    const bool follows = distinct_.size() > 1 && are_of_one_form();
    std::map<std::pair<CollectiveKind, std::uint32_t>, CollectiveCall> known;
    for (std::size_t k = 0; k < longest; ++k) {
      const CallerKind& first = callers_[distinct_.front()];
      std::optional<std::pair<CollectiveKind, std::uint32_t>> key;
      if (follows) key.emplace(first.request(k).kind, first.graph->amount_number(first.calls[k]));
      if (const auto alike = key ? known.find(*key) : known.end(); alike != known.end()) {
        agreement.list.calls.push_back(alike->second);
        continue;
      }
      if (!all_agree(k)) return {{}, k};
      agreement.list.calls.push_back(call(k));
      if (key) known.emplace(*key, agreement.list.calls.back());
    }
    return agreement;
  }

 private:
  bool all_agree(std::size_t k) const {
    for (const std::uint32_t kind : distinct_)
      if (k >= callers_[kind].calls.size()) return false;
    const CallRequest first = callers_[distinct_.front()].request(k);
    return std::ranges::all_of(distinct_, [&](std::uint32_t kind) { return agree(first, callers_[kind].request(k)); });
  }

  CollectiveCall call(std::size_t k) const {
    const CallRequest first = callers_[distinct_.front()].request(k);
    CollectiveCall result{first.kind, first.bytes, first.root, {}};
    const auto is_alike = [&](std::uint32_t kind) { return callers_[kind].request(k).bytes == first.bytes; };
    if (std::ranges::all_of(distinct_, is_alike)) return result;
    std::vector<Bytes> sizes;
    for (const std::uint32_t kind : kinds_) sizes.push_back(callers_[kind].request(k).bytes);
    result.bytes = std::ranges::max(sizes);
    result.bytes_of_member = MemberSizes(std::move(sizes));
    return result;
  }

  // True if all call from the same nodes of one form: what they ask for follows from a node's kind and amount number.
  bool are_of_one_form() const {
    const CallerKind& first = callers_[distinct_.front()];
    return std::ranges::all_of(distinct_, [&](std::uint32_t kind) {
      const CallerKind& caller = callers_[kind];
      return caller.graph != nullptr && caller.graph->form() == first.graph->form() &&
             caller.graph->has_numbers_of(*first.graph) && caller.roots.empty() &&
             caller.calls.data() == first.calls.data();
    });
  }

  const Callers& callers_;
  std::span<const std::uint32_t> kinds_;  // by member
  Kinds distinct_;
};

struct Matched {
  std::uint32_t list = 0;
  std::optional<std::size_t> disagreed;
};

}  // namespace

bool can_be_one(CollectiveKind kind, Bytes bytes, CollectiveKind other_kind, Bytes other_bytes) {
  const bool may_differ =
      kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  return kind == other_kind && (bytes == other_bytes || may_differ);
}

CallLists match_collectives(const Job& job, DisagreementReport& report) {
  Callers callers(job);
  std::unordered_map<Kinds, Matched, HashOfKinds> by_kinds;
  ContentPool<CallList> lists;
  CallLists result;
  result.list_of.reserve(job.communicators.size());
  for (std::uint32_t group = 0; group < job.communicators.size(); ++group) {
    if (const auto& first = job.communicators[group].shifted_from; first && job.ranks.period().any()) {
      result.list_of.push_back(result.list_of[index_of(*first)]);  // of members with the same programs
      continue;
    }
    const auto [known, is_new] = by_kinds.try_emplace(callers.kinds_of(GroupId(group)));
    Matched& matched = known->second;
    if (is_new) {
      Agreement agreement = CallMatcher(callers, known->first).match();
      matched = {lists.intern(std::move(agreement.list)), agreement.disagreed};
    }
    if (matched.disagreed) {
      const Kinds& kinds = known->first;
      report.add(GroupId(group),
                 [&] { return Disagreement(job, GroupId(group), callers, kinds).text(*matched.disagreed); });
    }
    result.list_of.push_back(matched.list);
  }
  for (CallList& list : lists.take()) result.lists.push_back(std::move(list.calls));
  return result;
}

}  // namespace orrery::workload
