// SPDX-License-Identifier: MIT
#include "astra/engine/messages.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery::astra {
namespace {

constexpr std::uint64_t kRendezvousBytes = 8192;
constexpr std::uint32_t kRendezvousTags = 500'000'000;  // added to the message's own

// The place of something new.
template <class Item>
std::uint32_t take(std::vector<Item>& items, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    items.emplace_back();
    return static_cast<std::uint32_t>(items.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  return place;
}

}  // namespace

void Messages::send(const Parcel& parcel) {
  if (!rendezvous_) return start(parcel);
  // Waits for the receiver's word.
  Parcel word = parcel;
  word.tag += kRendezvousTags;
  word.bytes = kRendezvousBytes;
  word.address = {parcel.source, parcel.destination};
  post(word, {CompletionKind::kRendezvousSend, parcel.source, defer({parcel, {}}), 0});
}

void Messages::receive(const Parcel& expected, const Completion& received) {
  if (!rendezvous_) return post(expected, received);
  Parcel word = expected;
  word.tag += kRendezvousTags;
  word.bytes = kRendezvousBytes;
  std::swap(word.source, word.destination);
  word.address = {word.destination, word.source};
  word.sent = {CompletionKind::kRendezvousReceive, received.rank, defer({expected, received}), 0};
  start(word);
}

void Messages::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kRendezvousSend) {
    start(deferred_[completion.a].parcel);
  } else {
    const Deferred deferred = deferred_[completion.a];
    post(deferred.parcel, deferred.received);
  }
}

void Messages::start(const Parcel& parcel) {
  const std::uint32_t place = keep(parcel);
  ++count_;
  network_->send(place, parcel.source, parcel.destination, parcel.bytes);
}

std::uint32_t Messages::meeting_of(const FlatTable<3>::Key& key) {
  std::uint32_t& place = meeting_of_[key];
  if (place != FlatTable<3>::kNone) return place;
  place = take(meetings_, free_meetings_);
  meetings_[place].used = {};
  return place;
}

void Messages::post(const Parcel& expected, const Completion& received) {
  const auto key = key_of(expected);
  const std::uint32_t place = meeting_of(key);
  Meeting& meeting = meetings_[place];
  if (Order* order = events_->order()) order->sequence(meeting.used);
  if (meeting.arrived == 0) {
    meeting.waiting.push_back(received);
    return;
  }
  if (--meeting.arrived == 0) {
    free_meetings_.push_back(place);
    meeting_of_.erase(key);
  }
  now_.push_back(received);
  events_->at(events_->now(), {EventKind::kReceived, static_cast<std::uint32_t>(now_.size() - 1), 0});
}

void Messages::received(std::uint32_t place) {
  const Completion completion = now_[place];
  if (place + 1 == now_.size()) now_.clear();
  listener_->complete(completion);
}

void Messages::deliver(std::uint32_t place) {
  const Parcel parcel = parcels_[place];
  const auto key = key_of(parcel);
  const std::uint32_t at = meeting_of(key);
  Meeting& meeting = meetings_[at];
  Order* const order = events_->order();
  if (order != nullptr) {
    order->move(0, order->block_of(parcel.destination));
    order->sequence(meeting.used);
    order->move(order->block_of(parcel.destination), 0);
  }
  const bool is_awaited = !meeting.waiting.empty();
  Completion received;
  if (is_awaited) {
    received = meeting.waiting.front();
    meeting.waiting.erase(meeting.waiting.begin());
    if (meeting.waiting.empty()) {
      free_meetings_.push_back(at);
      meeting_of_.erase(key);
    }
  } else {
    ++meeting.arrived;
    meeting.first = parcel;
  }
  listener_->complete(parcel.sent);
  free_parcels_.push_back(place);
  if (!is_awaited) return;
  if (order != nullptr) order->move(0, order->block_of(parcel.destination));
  listener_->complete(received);
}

std::uint32_t Messages::keep(const Parcel& parcel) {
  const std::uint32_t place = take(parcels_, free_parcels_);
  parcels_[place] = parcel;
  return place;
}

std::uint32_t Messages::defer(const Deferred& deferred) {
  deferred_.push_back(deferred);
  return static_cast<std::uint32_t>(deferred_.size() - 1);
}

std::vector<Messages::Unclaimed> Messages::unclaimed() const {
  std::vector<Unclaimed> all;
  for (const Meeting& meeting : meetings_)
    if (meeting.arrived > 0)
      all.push_back({meeting.first.source, meeting.first.destination, meeting.first.tag, meeting.first.bytes});
  std::ranges::sort(all, {}, [](const Unclaimed& one) { return std::tuple(one.from, one.to, one.tag, one.bytes); });
  return all;
}

}  // namespace orrery::astra
