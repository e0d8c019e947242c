// SPDX-License-Identifier: MIT
// A send waits for the nearest messages before it: those that it, or a receive or local action on the way, comes after.
// A send does not say again what an earlier send of its lane has waited for.
#include "collectives/custom/compile.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <queue>
#include <utility>

#include "collectives/custom/pairing.h"
#include "core/assert.h"
#include "core/hash.h"

namespace orrery::collectives {
namespace {

// Receive slots as ranges, ascending, that do not touch; and sends by their actions, ascending.
struct Waits {
  std::vector<SlotRange> slots;
  std::vector<std::uint32_t> sends;

  void add_slots(SlotRange range) {
    auto first = std::ranges::lower_bound(slots, range.begin, {}, &SlotRange::end);
    auto last = first;
    for (; last != slots.end() && last->begin <= range.end; ++last) {
      range.begin = std::min(range.begin, last->begin);
      range.end = std::max(range.end, last->end);
    }
    slots.insert(slots.erase(first, last), range);
  }
  void add_send(std::uint32_t action) {
    const auto at = std::ranges::lower_bound(sends, action);
    if (at == sends.end() || *at != action) sends.insert(at, action);
  }
  void add(const Waits& other) {
    for (const SlotRange& range : other.slots) add_slots(range);
    for (const std::uint32_t action : other.sends) add_send(action);
  }
  bool has_send(std::uint32_t action) const { return std::ranges::binary_search(sends, action); }
  bool covers(const Waits& other) const {
    return std::ranges::includes(sends, other.sends) && other.slots_without(*this).empty();
  }
  std::vector<SlotRange> slots_without(const Waits& known) const {
    std::vector<SlotRange> left;
    for (SlotRange range : slots) {
      for (const SlotRange& other : known.slots) {
        if (other.end <= range.begin || other.begin >= range.end) continue;
        if (range.begin < other.begin) left.push_back({range.begin, other.begin});
        range.begin = std::min(other.end, range.end);
      }
      if (!range.empty()) left.push_back(range);
    }
    return left;
  }
};

// Actions of one rank, each after those that it waits for, the smallest of several first.
std::vector<std::uint32_t> local_order(const std::vector<Action>& actions) {
  std::vector<std::size_t> waiting(actions.size());
  std::vector<std::vector<std::uint32_t>> unblocks(actions.size());
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t a = 0; a < actions.size(); ++a) {
    waiting[a] = actions[a].after.size();
    if (waiting[a] == 0) ready.push(a);
    for (const std::uint32_t earlier : actions[a].after) unblocks[earlier].push_back(a);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::uint32_t next : unblocks[order.back()])
      if (--waiting[next] == 0) ready.push(next);
  }
  ORRERY_ASSERT(order.size() == actions.size());
  return order;
}

struct Lane {
  std::vector<std::uint32_t> sends;  // actions
  Waits of_last;                     // what the last one waits for
  Waits known;                       // what is over when the last one has started
};

// One rank's program.
class TableCompiler {
 public:
  TableCompiler(const WrittenCollective& written, const Pairing& pairing, std::uint32_t rank)
      : written_(written),
        pairing_(pairing),
        rank_(rank),
        actions_(written.actions[rank]),
        waits_(actions_.size()),
        reduced_(actions_.size()),
        index_(actions_.size()) {}

  TableProgram compile() {
    for (const std::uint32_t a : local_order(actions_)) {
      for (const std::uint32_t earlier : actions_[a].after) wait_for(waits_[a], earlier);
      if (actions_[a].kind == Action::Kind::kSend) add_to_lane(a);
      if (actions_[a].kind == Action::Kind::kReceive) ++program_.receives;
    }
    number_sends();
    for (const Lane& lane : lanes_)
      for (const std::uint32_t a : lane.sends) write_send(a);
    if (program_.lane_ends.empty()) program_.lane_ends.push_back(0);
    return std::move(program_);
  }

 private:
  void wait_for(Waits& waits, std::uint32_t earlier) const {
    if (actions_[earlier].kind == Action::Kind::kSend) return waits.add_send(earlier);
    waits.add(waits_[earlier]);
    if (actions_[earlier].kind != Action::Kind::kReceive) return;
    const std::uint32_t slot = pairing_.slots[rank_][earlier];
    waits.add_slots({slot, slot + 1});
  }

  // A lane whose last send has started by the time that this one may.
  Lane& lane_for(const Waits& waits) {
    for (Lane& lane : lanes_)
      if (waits.has_send(lane.sends.back())) return lane;
    for (Lane& lane : lanes_)
      if (waits.covers(lane.of_last)) return lane;
    return lanes_.emplace_back();
  }

  void add_to_lane(std::uint32_t a) {
    const Waits& waits = waits_[a];
    Lane& lane = lane_for(waits);
    reduced_[a].slots = waits.slots_without(lane.known);
    std::ranges::set_difference(waits.sends, lane.known.sends, std::back_inserter(reduced_[a].sends));
    lane.sends.push_back(a);
    lane.of_last = waits;
    lane.known.add(waits);
  }

  void number_sends() {
    std::uint32_t count = 0;
    for (const Lane& lane : lanes_) {
      for (const std::uint32_t a : lane.sends) index_[a] = count++;
      program_.lane_ends.push_back(count);
    }
    program_.hash = hash_of({program_.receives, count, lanes_.size()});
  }

  void write_send(std::uint32_t a) {
    const Action& action = actions_[a];
    const Waits& waits = reduced_[a];
    TableSend send;
    const std::uint32_t receive = pairing_.ends[rank_][a];
    send.to = action.peer;
    send.slot = pairing_.slots[action.peer][receive];
    send.combine = written_.actions[action.peer][receive].combine;
    send.count = action.count;
    send.weight = action.weight;
    if (!waits.slots.empty()) send.needs = waits.slots.front();
    if (!waits.sends.empty()) send.after_send = index_[waits.sends.front()];
    MoreWaits more;
    for (std::size_t i = 1; i < waits.slots.size(); ++i) more.needs.push_back(waits.slots[i]);
    for (std::size_t i = 1; i < waits.sends.size(); ++i) more.after_sends.push_back(index_[waits.sends[i]]);
    add_to_hash({send.count, send.weight, static_cast<std::uint64_t>(send.combine)});
    for (const SlotRange& range : waits.slots) add_to_hash({range.begin, range.end});
    for (const std::uint32_t earlier : waits.sends) add_to_hash({index_[earlier]});
    if (!more.needs.empty() || !more.after_sends.empty()) {
      send.more = static_cast<std::uint32_t>(program_.more.size());
      program_.more.push_back(std::move(more));
    }
    program_.sends.push_back(send);
  }

  void add_to_hash(std::initializer_list<std::uint64_t> values) {
    program_.hash = hash_of({program_.hash, hash_of(values)});
  }

  const WrittenCollective& written_;
  const Pairing& pairing_;
  std::uint32_t rank_;
  const std::vector<Action>& actions_;
  std::vector<Waits> waits_;    // of every action, by way of receives and local actions
  std::vector<Waits> reduced_;  // of sends: what their lane does not know of
  std::vector<std::uint32_t> index_;
  std::vector<Lane> lanes_;
  TableProgram program_;
};

}  // namespace

MessageTable compile(std::string name, const WrittenCollective& written) {
  const Pairing pairing = pair_messages(written);
  std::vector<TableProgram> programs;
  for (std::uint32_t rank = 0; rank < written.ranks; ++rank)
    programs.push_back(TableCompiler(written, pairing, rank).compile());
  return {std::move(name), written.kind, written.root, written.whole, std::move(programs)};
}

}  // namespace orrery::collectives
