// SPDX-License-Identifier: MIT
// Order of simultaneous events where ranks are folded and share links. Which of two messages enters a link first
// follows from the order in which events were scheduled. An event stands for one of each block of ranks
// (translation.h), and two of one instant that meet at a link or a rank have to come in the same order in all blocks.
//
// They do where any two of their causes, equally far back, are of different times: the earlier one's goes first. Events
// whose causes are of the same times all the way are kin. Kin come in the order of the ranks from whose start they
// follow. That is the same from everywhere if these are of one block, and differs if not: going round, one of them
// passes rank 0 first. So an event has a number for its kin and the block of its start, seen from where it happens.
//
// Kin of different blocks may do something together, such as filling up what the next step waits for: then any of them
// may be the last. What they cause is the same, but is a split of its own from there on: in line with nothing but
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/engine/translation.h"
#include "astra/input/ticks.h"

namespace orrery::astra {

class Order {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Order(const Translation& translation) : translation_(translation) {}

  // Origin of events; two of kin are in the same order everywhere if it is the same.
  struct Origin {
    std::uint32_t block = 0;
    std::uint32_t split = 0;  // 0: no split
    bool operator==(const Origin&) const = default;
  };
  // The last event at some place.
  struct Mark {
    Ticks at = UINT64_MAX;
    std::uint32_t kin = 0;
    Origin origin{};
  };
  // A rank or a link: what its events of one kin cause has one origin.
  struct Owner {
    Ticks at = UINT64_MAX;
    std::uint32_t kin = 0;
    std::uint32_t record = kNone;
  };
  // Cause of an event: the instant and the kin of those that scheduled it, and who did.
  struct Cause {
    Ticks at = 0;
    std::uint32_t kin = 0;
    std::uint32_t record = kNone;
    bool is_kin(const Cause& other) const { return at == other.at && kin == other.kin; }
  };
  // State that is put back after a detour to another place.
  struct Place {
    Origin origin{};
    std::uint32_t record = kNone;
  };

  // False if a result may depend on an order that is not the same everywhere.
  bool is_sound() const { return !conflict_; }

  void begin_instant(Ticks now) {
    now_ = now;
    kin_ = 0;
  }
  // An event that `cause` scheduled, next in the order of its instant. The cause is used up.
  void begin(const Cause& cause) {
    if (kin_ == 0 || !cause.is_kin(last_)) ++kin_;
    last_ = cause;
    origin_ = records_[cause.record].origin;
    release(cause);
  }

  const Origin& origin() const { return origin_; }
  void stand(const Origin& origin) { origin_ = origin; }
  // In line with nothing: for one of several whose order differs.
  Origin apart() { return {origin_.block, ++splits_}; }

  // Cause of what is scheduled now. Each is to be used up once.
  Cause cause() {
    ++records_[record_].uses;
    return {now_, kin_, record_};
  }
  void release(const Cause& cause) { drop(cause.record); }
  bool is_mixed(const Cause& cause) const { return records_[cause.record].is_mixed; }
  // Joins all that was scheduled just now to the present event.
  void note_joining() {
    records_[record_].joins = true;
    conflict_ |= records_[record_].is_mixed;
  }

  // The event acts on a rank or a link, seen from there: what it schedules from now on is theirs.
  void touch(Owner& owner) {
    if (owner.at == now_ && owner.kin == kin_) {
      Record& record = records_[owner.record];
      if (record.origin != origin_) {
        record.origin.split = ++splits_;
        record.is_mixed = true;
        conflict_ |= record.joins;
      }
    } else {
      if (owner.record != kNone) drop(owner.record);
      owner = {now_, kin_, take()};
    }
    record_ = owner.record;
  }

  // Notes that what happens at a place has to be in the same order everywhere.
  void sequence(Mark& mark) {
    conflict_ |= mark.at == now_ && mark.kin == kin_ && mark.origin != origin_;
    mark = {now_, kin_, origin_};
  }
  void give_up() { conflict_ = true; }

  // Looks at the event from block `to` instead of block `from`, as numbered by those that stand for all.
  std::uint32_t block_of(std::uint32_t rank) const { return translation_.block_of(rank); }
  void move(std::uint32_t from, std::uint32_t to) {
    origin_.block = translation_.block_moved_back(translation_.block_moved(origin_.block, from), to);
  }
  Place place() const { return {origin_, record_}; }
  void go_back(const Place& place) {
    origin_ = place.origin;
    record_ = place.record;
  }

 private:
  struct Record {
    Origin origin{};
    std::uint32_t uses = 0;  // causes, and the owner
    bool is_mixed = false;   // of events of several origins
    bool joins = false;
  };

  std::uint32_t take() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(records_.size()));
      records_.emplace_back();
    }
    const std::uint32_t record = free_.back();
    free_.pop_back();
    records_[record] = {.origin = origin_, .uses = 1};
    return record;
  }
  void drop(std::uint32_t record) {
    if (--records_[record].uses == 0) free_.push_back(record);
  }

  Translation translation_;
  Ticks now_ = 0;
  std::uint32_t kin_ = 0;
  std::uint32_t splits_ = 0;
  Cause last_{};
  Origin origin_{};
  std::uint32_t record_ = kNone;  // of the present rank or link
  bool conflict_ = false;
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_;
};

}  // namespace orrery::astra
