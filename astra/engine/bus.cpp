// SPDX-License-Identifier: MIT
#include "astra/engine/bus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::astra {
namespace {

constexpr double kMemoryByteGap = 0.0038;  // ns a byte of the second bus
constexpr int kMostReads = 8;              // one after another, while the other end waits

}  // namespace

Bus::Bus(const SharedBus& bus, Timers& timers, EventQueue& events, std::uint32_t rank,
         std::function<void(const Timer&)> arrived)
    : bus_(bus), timers_(&timers), events_(&events), rank_(rank), arrived_(std::move(arrived)) {}

void Bus::carry(const Timer& packet, bool to_adapter, bool processed, bool sends_back) {
  const Request wanted{.packet = packet, .processed = processed, .sends_back = sends_back};
  if (to_adapter)
    from_memory(wanted, Then::kSend);
  else
    request(kAdapter, wanted);
}

void Bus::fire(const Timer& timer) { handle(static_cast<EndName>(timer.a), static_cast<EndEvent>(timer.b)); }

Bus::EndName Bus::partner_of(EndName end) {
  constexpr std::array<EndName, kEnds> kPartners = {kAdapter, kProcessor, kMemory2, kProcessor2};
  return kPartners[end];
}

double Bus::byte_gap(EndName end) const {
  return end == kProcessor || end == kAdapter ? bus_.byte_gap : kMemoryByteGap;
}

void Bus::request(EndName name, const Request& request) {
  End& end = ends_[name];
  end.sends.push_back(request);
  send_if_free(name);
}

void Bus::to_memory(const Request& outer, Then then, bool sends_back) {
  request(kProcessor2, {outer.packet, false, sends_back, then, outer.processed, outer.sends_back});
}

void Bus::from_memory(const Request& outer, Then then) {
  request(kMemory2, {outer.packet, false, false, then, outer.processed, outer.sends_back});
}

void Bus::handle(EndName name, EndEvent event) {
  End& end = ends_[name];
  if (event == EndEvent::kSent) {
    end.last = events_->now();
    end.before = std::exchange(end.state, State::kFree);
    ++end.reads;
  } else if (event == EndEvent::kReceived) {
    received(name);
  } else if (event == EndEvent::kProcessed) {
    processed(name);
  }
  send_if_free(name);
}

void Bus::received(EndName name) {
  End& end = ends_[name];
  end.last = events_->now();
  end.before = end.state;
  if (end.receives.size() < 2) end.state = State::kFree;
  Request request = end.receives.front();
  end.receives.pop_front();
  const bool has_memory = name == kProcessor;
  if (request.processed) {
    request.processed = false;
    if (has_memory)
      to_memory(request, Then::kProcess, true);
    else
      end.processing.push_back(request);
    if (!end.processes) process_next(name);
  } else {
    go_on(name, request);
  }
}

void Bus::processed(EndName name) {
  End& end = ends_[name];
  end.processes = false;
  const Request request = end.processing.front();
  end.processing.pop_front();
  go_on(name, request);
  process_next(name);
}

// Next step of a request that has been received, and processed if it was to be.
void Bus::go_on(EndName name, Request request) {
  const bool has_memory = name == kProcessor;
  if (request.sends_back) {
    request.sends_back = false;
    if (has_memory)
      to_memory(request, Then::kSend, true);
    else
      ends_[name].sends.push_back(request);
  } else if (has_memory) {
    to_memory(request, Then::kRetire, false);
  } else {
    over(request);
  }
}

void Bus::process_next(EndName name) {
  End& end = ends_[name];
  if (end.processing.empty()) return;
  end.processes = true;
  const std::uint64_t work = end.processing.front().packet.bytes / 100 * bus_.reduction + 50;
  set(name, EndEvent::kProcessed, static_cast<double>(work));
}

// A request is across. Those of the second bus are the processor's end's.
void Bus::over(const Request& request) {
  Request outer = request;
  outer.processed = request.outer_processed;
  outer.sends_back = request.outer_sends_back;
  outer.then = Then::kArrived;
  End& end = ends_[kProcessor];
  switch (request.then) {
    case Then::kArrived:
    case Then::kRetire:
      arrived_(request.packet);
      if (request.then == Then::kRetire) send_if_free(kProcessor);
      return;
    case Then::kProcess:
      end.processing.push_back(outer);
      if (!end.processes) process_next(kProcessor);
      return send_if_free(kProcessor);
    case Then::kSend:
      end.sends.push_back(outer);
      return send_if_free(kProcessor);
  }
}

void Bus::send_if_free(EndName name) {
  End& end = ends_[name];
  if (end.state != State::kFree || end.sends.empty()) return;
  End& partner = ends_[partner_of(name)];
  if (end.reads > kMostReads && !partner.sends.empty() && partner.reads <= kMostReads) {
    if (partner.state == State::kFree) handle(partner_of(name), EndEvent::kNone);
    return;
  }
  send_next(name);
}

void Bus::send_next(EndName name) {
  End& end = ends_[name];
  const Ticks since = events_->now() - end.last;
  const bool follows = end.before == State::kSending && bus_.overhead + since <= bus_.gap;
  const auto offset = static_cast<double>(follows ? bus_.gap - since : bus_.overhead);
  const Request request = end.sends.front();
  end.sends.pop_front();
  const double transfer = byte_gap(name) * (static_cast<double>(request.packet.bytes) - 1);
  End& partner = ends_[partner_of(name)];
  partner.receives.push_back(request);
  partner.before = std::exchange(partner.state, State::kReceiving);
  partner.reads = 0;
  set(partner_of(name), EndEvent::kReceived,
      offset + transfer + static_cast<double>(bus_.latency) + static_cast<double>(bus_.overhead));
  end.state = State::kSending;
  set(name, EndEvent::kSent, offset + transfer);
}

void Bus::set(EndName name, EndEvent event, double delay) {
  ORRERY_ASSERT(event != EndEvent::kNone);
  const Ticks ticks = whole_ticks(std::max(delay, 0.0), events_->now(), [&] {
    refuse_too_long(bus_.where_byte_gap, "G", fmt::format("a packet on the shared bus of rank {}", rank_), delay);
  });
  timers_->set(rank_, ticks, {TimerKind::kBus, false, name, static_cast<std::uint32_t>(event), 0});
}

}  // namespace orrery::astra
