// SPDX-License-Identifier: MIT
// Flows that have every link of their path to themselves, as most have on a well-used fabric: their rate is that of the
// narrowest link, so they need no solver. When another flow comes to one of their links, they move there. A group of
// messages that has its links to itself is one such flow, although its links are through with it one after the other.
//
// A path keeps its links when its flow has ended, until a flow on another path wants one of them: one message after the
// other on a path, as in a ring, costs the same however many links that has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine.h"
#include "core/paged_array.h"
#include "core/units.h"
#include "network/network.h"
#include "network/path_table.h"

namespace orrery::network {

struct UncontendedFlow : Message {
  Duration transfer{};  // from PathTable::send()
  Time start;
};

class UncontendedFlows {
 public:
  // Ends come to `sink`, with `tag` plus the flow's path as payload; if they are predicted, only arrivals are told.
  UncontendedFlows(Engine& engine, EventSink& sink, std::uint64_t tag, PathTable& paths, std::size_t links)
      : engine_(engine), sink_(sink), tag_(tag), paths_(paths), links_(links) {}

  enum class Start : std::uint8_t { kRefused, kStarted, kPredicted };
  // Starts the flow if it is alone on its links; nothing happens if it is not, or crosses a link twice.
  Start start(const UncontendedFlow& flow);
  // True if nothing but the arrival of a started flow will be reported.
  bool is_predicted(const UncontendedFlow& flow) const;
  // The flow on the path ended now.
  UncontendedFlow end(PathId path);
  // Takes the flow that has `link` to itself, if one does, off its links before its end.
  std::optional<UncontendedFlow> evict(LinkId link);

  // Evicts all flows; returns them.
  std::vector<UncontendedFlow> evict_all();
  // Links were busy for as long as their parents so far. No flow is on either.
  void split(std::span<const LinkSplit> links) {
    for (const LinkSplit& split : links) links_.own(index_of(split.link)).busy = links_.at(index_of(split.parent)).busy;
  }

  // Messages on a path were under way one after the other, outside of this.
  void count(PathId path, Duration transfer, std::int64_t messages) {
    for (const LinkId link : paths_.links(path)) {
      Duration& busy = links_.own(index_of(link)).busy;
      busy = saturating_multiply_add(busy, transfer, messages);
    }
  }

  // Counts so many groups, one after the other.
  void count_groups(PathId path, std::int64_t groups) {
    for (const auto& [load, transfer] : paths_.loads(path)) {
      Duration& busy = links_.own(index_of(load.link)).busy;
      busy = saturating_multiply_add(busy, transfer, groups);
    }
  }

  // One more, one less of the flows that share links uses this one.
  void share(LinkId link) { ++links_.own(index_of(link)).sharing; }
  void unshare(LinkId link) { --links_.own(index_of(link)).sharing; }

  // Adds how long flows of this kind were on each link. A message that was evicted never was, a group was until then.
  void add_busy(PagedArray<LinkUsage>& usage) const;

 private:
  static constexpr PathId kNobody{UINT32_MAX};

  struct LinkState {
    Duration busy{};          // without what its holder has not handed over yet
    PathId holder = kNobody;  // the path that has the link to itself
    std::uint32_t sharing = 0;
  };

  enum class State : std::uint8_t {
    kAway,      // holds no link
    kIdle,      // its last flow has ended
    kTold,      // it has a flow, whose end will be told
    kPredicted  // it has a flow, or had one that is over by now
  };
  // Use of links by the flow on a path; fits one cache line.
  struct alignas(64) Holder {
    Bytes bytes{0};  // of the flow
    MessageRecipient* recipient = nullptr;
    Duration transfer{};
    Time start;
    EventHandle end;  // of the transfer; if it is predicted, the arrival
    Duration busy{};  // with flows that ended since it holds its links; that of groups is with the links already
    std::uint32_t id = 0;
    bool may_predict = false;
    State state = State::kAway;

    Time release() const { return start + transfer; }
  };

  Holder& holder(PathId path) { return holders_[static_cast<std::size_t>(path)]; }
  const Holder& holder(PathId path) const { return holders_[static_cast<std::size_t>(path)]; }
  UncontendedFlow flow_of(PathId path) const;
  void book_end(PathId path);
  bool take_links(PathId path);
  void hand_over(PathId path);
  void book_group(PathId path, Duration until);
  bool is_free(LinkState& state);

  Engine& engine_;
  EventSink& sink_;
  std::uint64_t tag_;
  PathTable& paths_;
  PagedArray<LinkState> links_;  // by link
  std::vector<Holder> holders_;  // by path
  std::vector<LinkId> taking_;   // scratch of take_links()
};

}  // namespace orrery::network
