// SPDX-License-Identifier: MIT
// Times for which links carry messages of a tape, whose ends were taken to be those of messages that have their links
// to themselves. That was right unless two of them are on one link at a time: then both are noted as conflicts, and
// have to go by the network. Messages that go by it already share links with one another as they like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace orrery::system {

class LinkBookings {
 public:
  // A send of an agent by its node, or a call of a home communicator by its index.
  struct Message {
    std::uint32_t of = 0;
    std::uint32_t number = 0;
    bool is_call = false;

    auto operator<=>(const Message&) const = default;
  };

  // Messages of `user` cross `links`. Those of an owner that is serial are under way one at a time, whichever of its
  // users they are of.
  void add(std::uint32_t user, std::uint32_t owner, bool is_serial, std::span<const LinkId> links);
  // All of so many users have been added.
  void close(std::uint32_t users);
  // False if messages of the user meet no others on their links, which need not be booked.
  bool may_meet(std::uint32_t user) const { return first_lane_[user] != first_lane_[user + 1]; }
  // True if these may be some of an owner that is not serial.
  bool may_meet_sends(std::uint32_t user) const;

  // A message of the user has its links from `begin` to `end`. `by_network`: it went by the network and ends now, so
  // that whatever is booked later begins no earlier.
  void book(std::uint32_t user, Time begin, Time end, Message message, bool by_network);

  // Messages that met others, in no particular order and some more than once.
  const std::vector<Message>& conflicts() const { return conflicts_; }
  // True if a message may have met others that are not known any more: those that were booked long before, and those
  // that went by the network.
  bool has_lost_track() const { return has_lost_track_; }

 private:
  struct Crossing {
    LinkId link{};
    std::uint32_t owner = 0;
    std::uint32_t user = 0;
    bool is_serial = false;

    auto operator<=>(const Crossing&) const = default;
  };
  struct Booking {
    Time begin;
    Time end;
    Message message;
  };
  // Links that messages of the same owners cross.
  struct Lane {
    std::vector<Booking> alone;  // the latest; ascending, and no two at a time
    Time forgotten;              // all others alone have ended by then
    Time released;               // all that went by the network have ended by then
    bool has_sends = false;      // not all owners are serial
  };

  void meet(const Booking& one, const Booking& other);

  std::vector<Crossing> crossings_;
  std::vector<std::uint32_t> first_lane_{0};  // by user, into lane_of_
  std::vector<std::uint32_t> lane_of_;
  std::vector<Lane> lanes_;
  std::vector<Message> conflicts_;
  bool has_lost_track_ = false;
};

}  // namespace orrery::system
