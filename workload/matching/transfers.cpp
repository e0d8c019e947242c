#include "workload/matching/transfers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workload/matching/transfer_disagreement.h"
#include "workload/matching/transfer_sides.h"

namespace orrery {
namespace {

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
    for (const ExecutionGraph& graph : job.graphs) result_.places.push_back(places_of(graph));
  }

  EndLists match(DisagreementReport& report) && {
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RankBinding& binding = job_.ranks[rank];
      result_.graph_of.push_back(binding.graph);
      result_.first_slot.push_back(result_.slots.size());
      result_.slots.resize(result_.slots.size() + job_.graphs[binding.graph].peer_slots());
      for (const TransferSides::Peer& peer : sides_.peers(RankId(rank))) match_with(RankId(rank), peer);
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

}  // namespace orrery
