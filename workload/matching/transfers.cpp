// SPDX-License-Identifier: MIT
// Matching of sends and receives: the k-th send from a to b with tag t meets b's k-th receive from a with tag t.
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/hash.h"
#include "workload/matching/disagreement.h"

namespace orrery::workload {
namespace {

// One end of a message, in the order in which the ends meet.
struct MessageEnd {
  std::int64_t tag = 0;
  std::uint32_t position = 0;  // in the canonical order of the graph
  NodeId node{};
  Bytes bytes;

  auto operator<=>(const MessageEnd&) const = default;
};

struct TransferSide {
  std::uint32_t graph = 0;
  std::vector<std::uint32_t> slots;  // of the peer, ascending: a rank may list it more than once
  std::vector<MessageEnd> sends;     // ascending
  std::vector<MessageEnd> receives;
};

// Transfers of each rank, to and from each of its peers, those of digit 0 for all where ranks repeat (Period): their
// peers are of digit 0, too. Ranks of the same graph and tags that have a peer at the same
// slots share that side of the traffic, whoever the peer is.
class TransferSides {
 public:
  struct Peer {
    RankId rank{};
    std::uint32_t side = 0;  // of the traffic with it
  };

  // `job` outlives it.
  explicit TransferSides(const Job& job) : job_(job), sides_(1) {
    std::map<const void*, std::uint32_t> first_of_form;
    for (std::uint32_t graph = 0; graph < job.graphs.size(); ++graph) {
      const std::uint32_t first = first_of_form.try_emplace(job.graphs[graph].form(), graph).first->second;
      model_.push_back(job.graphs[graph].has_same_transfers(job.graphs[first]) ? first : graph);
      programs_.push_back({graph, nullptr});
      transfers_.push_back(model_[graph] == graph ? transfers_by_slot(job.graphs[graph]) : SlotTransfers());
    }
    const RankBindings& ranks = job.ranks;
    for (std::uint32_t place = 0; place < ranks.size() / ranks.period().count; ++place) {
      first_peer_.push_back(peers_.size());
      add_peers(ranks[ranks.period().at(place)]);
    }
    first_peer_.push_back(peers_.size());
  }

  // Peers that the rank sends to or receives from, ascending.
  std::span<const Peer> peers(RankId rank) const {
    const std::uint32_t place = job_.ranks.period().place(index_of(rank));
    return std::span(peers_).subspan(first_peer_[place], first_peer_[place + 1] - first_peer_[place]);
  }
  // The rank's side of the traffic with `peer`; an empty one where it has none.
  std::uint32_t side(RankId rank, RankId peer) const {
    const std::span<const Peer> all = peers(rank);
    const auto found = std::ranges::lower_bound(all, peer, {}, &Peer::rank);
    return found != all.end() && found->rank == peer ? found->side : 0;
  }
  const TransferSide& operator[](std::uint32_t side) const { return sides_[side]; }
  // The graph whose transfers stand for those of a graph, which are the same.
  std::uint32_t model(std::uint32_t graph) const { return model_[graph]; }

 private:
  // A graph with one rank's tags.
  struct Program {
    std::uint32_t graph = 0;
    const std::vector<std::int64_t>* tags = nullptr;  // null: all zero
  };
  struct Transfer {
    std::uint32_t position = 0;
    NodeId node{};
  };
  using SlotTransfers = std::vector<std::vector<Transfer>>;  // by peer slot, in canonical order

  static SlotTransfers transfers_by_slot(const ExecutionGraph& graph) {
    SlotTransfers transfers(graph.peer_slots());
    if (transfers.empty()) return transfers;
    std::uint32_t position = 0;
    for (const NodeId node : graph.order()) {
      if (is_transfer(graph.kind(node))) transfers[graph.peer_slot(node)].push_back({position, node});
      ++position;
    }
    return transfers;
  }

  std::uint32_t program_of(const RankBinding& binding) {
    const std::uint32_t graph = model_[binding.graph];
    if (binding.tags().empty()) return graph;
    ContentDigest digest;
    digest.add(graph);
    digest.add_column(binding.tags());
    const auto [begin, end] = tagged_.equal_range(digest.value());
    for (auto known = begin; known != end; ++known) {
      const Program& program = programs_[known->second];
      if (program.graph == graph && *program.tags == binding.tags()) return known->second;
    }
    const auto program = static_cast<std::uint32_t>(programs_.size());
    programs_.push_back({graph, &binding.tags()});
    tagged_.emplace(digest.value(), program);
    return program;
  }

  void add_peers(const RankBinding& binding) {
    const SlotTransfers& transfers = transfers_[model_[binding.graph]];
    std::vector<std::pair<RankId, std::uint32_t>> slots;
    for (std::uint32_t slot = 0; slot < transfers.size(); ++slot)
      if (!transfers[slot].empty()) slots.emplace_back(binding.peers[slot], slot);
    if (slots.empty()) return;
    std::ranges::sort(slots);
    const std::uint32_t program = program_of(binding);
    std::vector<std::uint32_t> of_peer;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      of_peer.push_back(slots[i].second);
      if (i + 1 < slots.size() && slots[i + 1].first == slots[i].first) continue;
      peers_.push_back({slots[i].first, intern(program, of_peer)});
      of_peer.clear();
    }
  }

  std::uint32_t intern(std::uint32_t program, std::span<const std::uint32_t> slots) {
    key_.assign(1, program);
    key_.insert(key_.end(), slots.begin(), slots.end());
    const auto [known, is_new] = side_of_.try_emplace(key_, static_cast<std::uint32_t>(sides_.size()));
    if (is_new) sides_.push_back(make_side(programs_[program], slots));
    return known->second;
  }

  TransferSide make_side(const Program& program, std::span<const std::uint32_t> slots) const {
    const ExecutionGraph& graph = job_.graphs[program.graph];
    TransferSide side{program.graph, {slots.begin(), slots.end()}, {}, {}};
    for (const std::uint32_t slot : slots)
      for (const Transfer& transfer : transfers_[program.graph][slot]) {
        const std::int64_t tag = program.tags == nullptr ? 0 : (*program.tags)[graph.transfer_index(transfer.node)];
        (graph.kind(transfer.node) == NodeKind::kSend ? side.sends : side.receives)
            .push_back({tag, transfer.position, transfer.node, graph.bytes(transfer.node)});
      }
    std::ranges::sort(side.sends);
    std::ranges::sort(side.receives);
    return side;
  }

  const Job& job_;
  std::vector<std::uint32_t> model_;                              // by graph
  std::vector<SlotTransfers> transfers_;                          // by graph that is its own model
  std::vector<Program> programs_;                                 // first those without tags, by graph
  std::unordered_multimap<std::uint64_t, std::uint32_t> tagged_;  // programs by their digest
  std::vector<TransferSide> sides_;                               // 0: no traffic
  std::map<std::vector<std::uint32_t>, std::uint32_t> side_of_;   // by program and slots
  std::vector<std::uint32_t> key_;                                // looked up in side_of_; kept for its memory
  std::vector<std::size_t> first_peer_;                           // into peers_, by place of the rank
  std::vector<Peer> peers_;
};

// The sends and the receives of one (source, destination, tag), each in order.
class Channel {
 public:
  Channel(const Job& job, RankId source, std::span<const MessageEnd> sends, RankId destination,
          std::span<const MessageEnd> receives)
      : job_(job), source_(source), sends_(sends), destination_(destination), receives_(receives) {}

  void check(DisagreementReport& report) const {
    const std::size_t pairs = std::min(sends_.size(), receives_.size());
    for (std::size_t k = 0; k < pairs; ++k)
      if (sends_[k].bytes != receives_[k].bytes)
        return report.add(Route(source_, destination_), [&] { return describe_sizes(k); });
    if (sends_.size() != receives_.size())
      report.add(Route(source_, destination_), [&] { return describe_unmatched(pairs); });
  }

 private:
  std::string heading() const {
    const MessageEnd& end = sends_.empty() ? receives_.front() : sends_.front();
    return fmt::format("  from rank {} to rank {}, tag {}: ", index_of(source_), index_of(destination_), end.tag);
  }

  std::string describe_sizes(std::size_t k) const {
    return heading() + fmt::format("transfer {} is sent with {} bytes ({}) and received with {} bytes ({})", k + 1,
                                   sends_[k].bytes.count(), job_.describe(source_, sends_[k].node),
                                   receives_[k].bytes.count(), job_.describe(destination_, receives_[k].node));
  }

  std::string describe_unmatched(std::size_t pairs) const {
    const auto count = [](std::size_t n, std::string_view what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const bool sends_left = sends_.size() > receives_.size();
    const NodeId first = sends_left ? sends_[pairs].node : receives_[pairs].node;
    const RankId rank = sends_left ? source_ : destination_;
    return heading() + fmt::format("{} but {}; the first without {} is {} on rank {}{}", count(sends_.size(), "send"),
                                   count(receives_.size(), "receive"), sends_left ? "a receive" : "a send",
                                   job_.describe(rank, first), index_of(rank),
                                   early_end(job_, sends_left ? destination_ : source_, rank));
  }

  const Job& job_;
  RankId source_;
  std::span<const MessageEnd> sends_;
  RankId destination_;
  std::span<const MessageEnd> receives_;
};

// The ends of `tag` at the front of `ends`, which loses them.
std::span<const MessageEnd> take_tag(std::int64_t tag, std::span<const MessageEnd>& ends) {
  const auto after = std::ranges::upper_bound(ends, tag, {}, &MessageEnd::tag);
  const auto count = static_cast<std::size_t>(after - ends.begin());
  const std::span<const MessageEnd> taken = ends.first(count);
  ends = ends.subspan(count);
  return taken;
}

// One entry of the report for each tag, ascending, whose ends do not match. `sends`: all from source to destination;
// `receives`: all of destination from source.
void report_disagreement(const Job& job, RankId source, std::span<const MessageEnd> sends, RankId destination,
                         std::span<const MessageEnd> receives, DisagreementReport& report) {
  while (!sends.empty() || !receives.empty()) {
    const std::int64_t tag = sends.empty()      ? receives.front().tag
                             : receives.empty() ? sends.front().tag
                                                : std::min(sends.front().tag, receives.front().tag);
    const std::span<const MessageEnd> of_tag = take_tag(tag, sends);
    Channel(job, source, of_tag, destination, take_tag(tag, receives)).check(report);
  }
}

using Places = std::vector<EndLists::Place>;

Places places_of(const ExecutionGraph& graph) {
  Places places;
  std::vector<std::uint32_t> next(graph.peer_slots());
  for (const NodeId node : graph.transfers()) {
    const std::uint32_t slot = graph.peer_slot(node);
    places.push_back({slot, next[slot]++});
  }
  return places;
}

// Ends are in order of (tag, position), so where as many have each tag, those that belong together meet.
bool agree(std::span<const MessageEnd> sends, std::span<const MessageEnd> receives) {
  return std::ranges::equal(sends, receives, [](const MessageEnd& send, const MessageEnd& receive) {
    return send.tag == receive.tag && send.bytes == receive.bytes;
  });
}

class TransferMatcher {
 public:
  explicit TransferMatcher(const Job& job) : job_(job), sides_(job) {
    for (std::uint32_t graph = 0; graph < job.graphs.size(); ++graph)
      result_.places.push_back(sides_.model(graph) == graph ? places_of(job.graphs[graph]) : Places());
  }

  EndLists match(DisagreementReport& report) && {
    const RankBindings& ranks = job_.ranks;
    result_.period = ranks.period();
    for (std::uint32_t place = 0; place < ranks.size() / ranks.period().count; ++place) {
      const RankId rank{ranks.period().at(place)};
      const std::uint32_t graph = ranks.graph(index_of(rank));
      result_.graph_of.push_back(sides_.model(graph));
      result_.first_slot.push_back(result_.slots.size());
      result_.slots.resize(result_.slots.size() + job_.graphs[graph].peer_slots());
      for (const TransferSides::Peer& peer : sides_.peers(rank)) match_with(rank, peer);
    }
    describe_disagreements(report);
    return std::move(result_);
  }

 private:
  // Two sides of the traffic between two ranks, as the first of them sees it.
  struct Meeting {
    bool sends_agree = false;
    bool receives_agree = false;
    std::uint32_t first_list = 0;  // of the nodes there; one for each slot here
  };

  void match_with(RankId rank, const TransferSides::Peer& peer) {
    const Meeting& meeting = meet(peer.side, sides_.side(peer.rank, rank));
    if (!meeting.sends_agree) disagreeing_.emplace_back(rank, peer.rank);
    if (!meeting.receives_agree) disagreeing_.emplace_back(peer.rank, rank);
    std::uint32_t list = meeting.first_list;
    for (const std::uint32_t slot : sides_[peer.side].slots)
      result_.slots[result_.first_slot.back() + slot] = {peer.rank, list++};
  }

  const Meeting& meet(std::uint32_t here, std::uint32_t there) {
    const auto [known, is_new] = meetings_.try_emplace(std::uint64_t{here} << 32 | there);
    Meeting& meeting = known->second;
    if (!is_new) return meeting;
    const TransferSide& side = sides_[here];
    const TransferSide& other = sides_[there];
    meeting = {agree(side.sends, other.receives), agree(other.sends, side.receives),
               static_cast<std::uint32_t>(result_.lists.size())};
    result_.lists.resize(result_.lists.size() + side.slots.size());
    if (meeting.sends_agree) tie(side, side.sends, other.receives, meeting.first_list);
    if (meeting.receives_agree) tie(side, side.receives, other.sends, meeting.first_list);
    for (std::size_t list = meeting.first_list; list < result_.lists.size(); ++list)
      result_.lists[list].shrink_to_fit();
    return meeting;
  }

  void tie(const TransferSide& side, std::span<const MessageEnd> ends, std::span<const MessageEnd> others,
           std::uint32_t first_list) {
    const ExecutionGraph& graph = job_.graphs[side.graph];
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const EndLists::Place place = result_.places[side.graph][graph.transfer_index(ends[k].node)];
      const auto slot = std::ranges::lower_bound(side.slots, place.slot) - side.slots.begin();
      std::vector<NodeId>& list = result_.lists[first_list + static_cast<std::uint32_t>(slot)];
      if (list.size() <= place.ordinal) list.resize(place.ordinal + 1);
      list[place.ordinal] = others[k].node;
    }
  }

  void describe_disagreements(DisagreementReport& report) {
    std::ranges::sort(disagreeing_);
    disagreeing_.erase(std::unique(disagreeing_.begin(), disagreeing_.end()), disagreeing_.end());
    for (const auto& [source, destination] : disagreeing_)
      report_disagreement(job_, source, sides_[sides_.side(source, destination)].sends, destination,
                          sides_[sides_.side(destination, source)].receives, report);
  }

  const Job& job_;
  TransferSides sides_;
  EndLists result_;
  std::unordered_map<std::uint64_t, Meeting> meetings_;  // by the sides here and there
  std::vector<std::pair<RankId, RankId>> disagreeing_;   // sources and destinations
};

}  // namespace

EndLists match_transfers(const Job& job, DisagreementReport& report) { return TransferMatcher(job).match(report); }

}  // namespace orrery::workload
