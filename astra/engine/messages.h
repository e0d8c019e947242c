// SPDX-License-Identifier: MIT
// Messages between ranks: which send belongs to which receive, and what happens when a message has arrived. A send and
// a receive belong together by receiver, sender, tag and size, the k-th of such sends to the k-th of such receives; a
// difference in any of them only means that they never meet.
#pragma once

#include <cstdint>
#include <vector>

#include "astra/engine/events.h"
#include "astra/engine/flat_table.h"

namespace orrery::astra {

enum class CompletionKind : std::uint8_t {
  kNothing,
  kNode,               // node `a` of the trace
  kPacket,             // a packet for stream `a`
  kCustomNode,         // node `b` of the custom schedule of stream `a`
  kRendezvousSend,     // the receiver is ready: deferred message `a` may go
  kRendezvousReceive,  // the sender knows: deferred receive `a` is posted
};

// Completion: the work that is over, and the one to notify.
struct Completion {
  CompletionKind kind = CompletionKind::kNothing;
  std::uint32_t rank = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

// Receiver of a message, and the number by which it knows the sender. Without folding these are ranks; a rank that
// stands for others receives from itself what those others send.
struct Address {
  std::uint32_t to = 0;
  std::uint32_t from = 0;
};

struct Parcel {
  Address address;
  std::uint32_t tag = 0;
  std::uint32_t source = 0;  // ranks, of which the network knows the way
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  Completion sent;  // when it has arrived
};

// Model of message times.
class Network {
 public:
  virtual ~Network() = default;
  // Schedules the event kDelivery of `parcel`.
  virtual void send(std::uint32_t parcel, std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) = 0;
  virtual void handle(const Event& event) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void complete(const Completion& completion) = 0;
};

class Messages {
 public:
  // `rendezvous`: a receiver first tells the sender that it is ready; then addresses are ranks.
  Messages(EventQueue& events, Network& network, Listener& listener, bool rendezvous)
      : events_(&events), network_(&network), listener_(&listener), rendezvous_(rendezvous) {}

  void send(const Parcel& parcel);
  void receive(const Parcel& expected, const Completion& received);

  // Events of kind kDelivery and kReceived.
  void deliver(std::uint32_t parcel);
  void received(std::uint32_t place);
  // Completions of this class's own.
  void complete(const Completion& completion);

  const Parcel& parcel(std::uint32_t place) const { return parcels_[place]; }  // on its way
  std::uint64_t count() const { return count_; }
  // Messages that arrived and for which nobody waits, by sender.
  struct Unclaimed {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Unclaimed> unclaimed() const;

 private:
  struct Meeting {  // of sends and receives that belong together
    std::uint32_t arrived = 0;
    std::vector<Completion> waiting{};  // rarely more than one
    Parcel first{};
    Order::Mark used{};
  };
  struct Deferred {
    Parcel parcel{};
    Completion received{};
  };

  static FlatTable<3>::Key key_of(const Parcel& parcel) {
    return {std::uint64_t{parcel.address.to} << 32 | parcel.address.from, parcel.tag, parcel.bytes};
  }
  std::uint32_t meeting_of(const FlatTable<3>::Key& key);
  void start(const Parcel& parcel);
  void post(const Parcel& expected, const Completion& received);
  std::uint32_t keep(const Parcel& parcel);
  std::uint32_t defer(const Deferred& deferred);

  EventQueue* events_;
  Network* network_;
  Listener* listener_;
  bool rendezvous_;
  std::uint64_t count_ = 0;
  std::vector<Parcel> parcels_;
  std::vector<std::uint32_t> free_parcels_;
  std::vector<Meeting> meetings_;
  std::vector<std::uint32_t> free_meetings_;
  FlatTable<3> meeting_of_;
  std::vector<Deferred> deferred_;
  std::vector<Completion> now_;  // of receives whose message was there already
};

}  // namespace orrery::astra
