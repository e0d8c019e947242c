// SPDX-License-Identifier: MIT
#include "astra/engine/network_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace orrery::astra {
namespace {

// Names what is more of it.
[[noreturn]] void refuse_message(const Dimension& dimension, double latency, double transfer, std::uint64_t bytes,
                                 std::uint32_t destination) {
  const std::string what = fmt::format("a message of {} bytes to rank {}", bytes, destination);
  if (latency > transfer) refuse_too_long(dimension.where_latency, "latency", what, latency + transfer);
  refuse_too_long(dimension.where_bandwidth, "bandwidth", what, latency + transfer);
}

class UnsharedNetwork : public Network {
 public:
  UnsharedNetwork(const NetworkFile& network, EventQueue& events) : paths_(network), events_(&events) {}

  void send(std::uint32_t parcel, std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) override {
    const UnsharedPaths::Distance distance = paths_.distance(source, destination);
    const Dimension& dimension = paths_.dimension(distance);
    const double latency = static_cast<int>(distance.hops) * dimension.latency;
    const double transfer = static_cast<double>(bytes) / dimension.bandwidth;
    const Ticks time = whole_ticks(latency + transfer, events_->now(),
                                   [&] { refuse_message(dimension, latency, transfer, bytes, destination); });
    events_->at(events_->now() + time, {EventKind::kDelivery, parcel, 0});
  }
  void handle(const Event&) override {}

 private:
  UnsharedPaths paths_;
  EventQueue* events_;
};

// Directed links with one message at a time, in the order in which messages reach them; a device has the whole of a
// message before it sends it on. Of ranks that are folded, a message has its own way from the rank that stands for its
// sender, and takes the links that stand for those of its way.
class SharedNetwork : public Network {
 public:
  SharedNetwork(const NetworkFile& network, const Translation& translation, EventQueue& events, Deliver deliver)
      : dimension_(network.dimensions.front()),
        npus_(dimension_.size),
        translation_(translation),
        order_(events.order()),
        events_(&events),
        deliver_(std::move(deliver)),
        links_(std::size_t{2} * npus_) {}

  void send(std::uint32_t parcel, std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) override {
    if (parcel >= transits_.size()) transits_.resize(parcel + 1);
    transits_[parcel] = {source, destination, bytes};
    enter(parcel);
  }

  void handle(const Event& event) override {
    if (event.kind == EventKind::kHop) return hop(event.a);
    Link& link = links_[event.a];
    if (order_ != nullptr) order_->touch(link.owner);
    link.busy = false;
    if (link.first == kNone) return;
    const std::uint32_t parcel = link.first;
    link.first = transits_[parcel].behind;
    transmit(event.a, parcel);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Transit {
    std::uint32_t at = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;
    std::uint32_t behind = kNone;  // the next that waits for the same link
  };
  struct Link {
    bool busy = false;
    std::uint32_t first = kNone;  // of those that wait
    std::uint32_t last = kNone;
    Order::Owner owner{};
    Order::Mark entered{};
  };

  // The device after this one on the way; a switch has the number after those of the NPUs.
  std::uint32_t next_device(const Transit& transit) const {
    if (dimension_.topology == TopologyKind::kFullyConnected) return transit.destination;
    if (dimension_.topology == TopologyKind::kSwitch) return transit.at == npus_ ? transit.destination : npus_;
    return is_clockwise(transit) ? (transit.at + 1) % npus_ : (transit.at + npus_ - 1) % npus_;
  }

  // The shorter way; clockwise if both are equal. A message keeps its direction: the way left only gets shorter.
  bool is_clockwise(const Transit& transit) const {
    const std::uint32_t clockwise = (transit.destination + npus_ - transit.at) % npus_;
    return clockwise <= npus_ - clockwise;
  }

  // Link of the FullyConnected network, numbered on its first use.
  std::uint32_t link_between(std::uint32_t source, std::uint32_t destination) {
    std::uint32_t& number = link_between_[{std::uint64_t{source} << 32 | destination}];
    if (number == FlatTable<1>::kNone) {
      number = static_cast<std::uint32_t>(links_.size());
      links_.emplace_back();
    }
    return number;
  }

  // NPU at the one end of the next link, by which it is numbered: where it begins, but that of a link from a switch.
  std::uint32_t npu_of_link(const Transit& transit) const {
    return transit.at == npus_ ? transit.destination : transit.at;
  }

  std::uint32_t link_of(const Transit& transit) {
    const std::uint32_t npu = npu_of_link(transit);
    const std::uint32_t agent = translation_.agent_of(npu);
    switch (dimension_.topology) {
      case TopologyKind::kFullyConnected:
        return link_between(agent, translation_.seen_from(npu, transit.destination));
      case TopologyKind::kSwitch:
        return transit.at == npus_ ? npus_ + agent : agent;
      case TopologyKind::kRing:
        break;
    }
    return is_clockwise(transit) ? agent : npus_ + agent;
  }

  // Comes from where the message was sent, as far as the order of events is concerned.
  void enter(std::uint32_t parcel) {
    const Transit& transit = transits_[parcel];
    const std::uint32_t number = link_of(transit);
    Link& link = links_[number];
    const Order::Place before = order_ != nullptr ? order_->place() : Order::Place{};
    if (order_ != nullptr) {
      order_->move(0, translation_.block_of(npu_of_link(transit)));
      order_->sequence(link.entered);
      order_->touch(link.owner);
    }
    if (link.busy) {
      transits_[parcel].behind = kNone;
      (link.first == kNone ? link.first : transits_[link.last].behind) = parcel;
      link.last = parcel;
    } else {
      transmit(number, parcel);
    }
    if (order_ != nullptr) order_->go_back(before);
  }

  void transmit(std::uint32_t number, std::uint32_t parcel) {
    links_[number].busy = true;
    const Transit& transit = transits_[parcel];
    const double serialization = static_cast<double>(transit.bytes) / dimension_.bandwidth;
    const Ticks time = whole_ticks(dimension_.latency + serialization, events_->now(), [&] {
      refuse_message(dimension_, dimension_.latency, serialization, transit.bytes, transit.destination);
    });
    const auto busy = static_cast<Ticks>(serialization);
    if (order_ != nullptr && busy == 0) order_->give_up();  // two messages may arrive in one instant
    events_->at(events_->now() + time, {EventKind::kHop, parcel, 0});
    events_->at(events_->now() + busy, {EventKind::kLinkFree, number, parcel});
  }

  void hop(std::uint32_t parcel) {
    Transit& transit = transits_[parcel];
    if (order_ != nullptr) order_->move(translation_.block_of(npu_of_link(transit)), 0);
    transit.at = next_device(transit);
    if (transit.at != transit.destination) return enter(parcel);
    deliver_(parcel);  // now, not after another event
  }

  Dimension dimension_;
  std::uint32_t npus_;
  Translation translation_;
  Order* order_;  // null if every rank is simulated
  EventQueue* events_;
  Deliver deliver_;
  std::vector<Link> links_;
  FlatTable<1> link_between_;
  std::vector<Transit> transits_;
};

}  // namespace

UnsharedPaths::Distance UnsharedPaths::distance(std::uint32_t source, std::uint32_t destination) const {
  for (std::uint32_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const std::uint32_t from = source % dimension.size;
    const std::uint32_t to = destination % dimension.size;
    source /= dimension.size;
    destination /= dimension.size;
    if (from == to) continue;
    switch (dimension.topology) {
      case TopologyKind::kRing: {
        const std::uint32_t clockwise = (to + dimension.size - from) % dimension.size;
        return {d, std::min(clockwise, dimension.size - clockwise)};
      }
      case TopologyKind::kSwitch:
        return {d, 2};
      case TopologyKind::kFullyConnected:
        return {d, 1};
    }
  }
  return {};
}

std::unique_ptr<Network> make_network(const Inputs& inputs, const Translation* translation, EventQueue& events,
                                      Deliver deliver) {
  const NetworkFile& network = inputs.network;
  if (inputs.flags.backend == Backend::kUnaware) return std::make_unique<UnsharedNetwork>(network, events);
  if (network.dimensions.size() > 1)
    throw InputError(
        {network.file},
        fmt::format("has {} dimensions, but the congestion-aware backend takes one only", network.dimensions.size()),
        "use --backend congestion_unaware, or `orrery run`, whose networks have any number");
  const Dimension& dimension = network.dimensions.front();
  if (dimension.topology == TopologyKind::kRing && dimension.size == 2)
    throw InputError({network.file}, "is a Ring of 2 NPUs, which the congestion-aware backend cannot build",
                     "a FullyConnected of 2 has the same two links");
  const Translation none(Translation::Kind::kRotation, network.npus, network.npus);
  return std::make_unique<SharedNetwork>(network, translation != nullptr ? *translation : none, events,
                                         std::move(deliver));
}

}  // namespace orrery::astra
