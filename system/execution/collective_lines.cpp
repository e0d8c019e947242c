// Granularity `phase`: the members of a line gather, and their messages go as one.
#include <tuple>

#include "system/execution/collectives.h"

namespace orrery {

void CollectiveExecution::join_line(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  const StateKey key = key_of(call, state);
  const LineView line = line_of(call, key);
  const std::uint32_t gathered = ++call.states[state_of(call, {line.seats.front(), key.chunk, key.phase})].gathered;
  if (gathered == line.seats.size()) return start_line(slot, key);
  if (gathered == 1) new_lines_.push_back({slot, state});
}

void CollectiveExecution::call_line(const Touched& first) {
  Call& call = calls_[first.call];
  const StateKey key = key_of(call, first.state);
  const std::uint32_t queue = planned(call, key).phase.queue();
  for (const std::uint32_t seat : line_of(call, key).seats) {
    const std::uint32_t state = state_of(call, {seat, key.chunk, key.phase});
    if (call.states[state].status != Status::kWaiting) continue;
    call.seats[seat].chunk_queues[queue].called.push_back(state);
    touch_queue(first.call, seat, queue);
  }
}

void CollectiveExecution::start_line(std::uint32_t slot, StateKey key) {
  const Call& call = calls_[slot];
  const LineView line = line_of(call, key);
  const std::uint32_t id = messages_.put({slot, state_of(call, key), 0, kWholeLine, 0, false, nullptr, {}});
  messages_sent_ += line.count;
  network_.start_group(line.path, id);
}

CollectiveExecution::LineView CollectiveExecution::line_of(const Call& call, StateKey key) {
  const LineClass& line =
      call.setting.tables == nullptr ? own_line(call, key) : call.setting.tables->line(key.phase, key.seat);
  return {line.seats, line.path, line.count};
}

// Of a job that is not folded.
const LineClass& CollectiveExecution::own_line(const Call& call, StateKey key) {
  const CommunicatorLayout& layout = *call.setting.plan->layout;
  const std::uint32_t axis = planned(call, key).phase.axis;
  const std::uint32_t first = layout.moved_to(position_of(call, key.seat), axis, 0);
  const auto [known, is_new] = lines_.try_emplace({call.key.group, call.setting.plan, key.phase, first});
  if (!is_new) return known->second;
  std::vector<DeviceId> devices;
  for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate) {
    known->second.seats.push_back(layout.member_at[layout.moved_to(first, axis, coordinate)]);
    devices.push_back(call.setting.devices[known->second.seats.back()]);
  }
  const LineTraffic traffic = traffic_of(*call.setting.plan, key.phase, devices, fabric_);
  known->second.path = network_.group_path(traffic.loads, traffic.latency);
  return known->second;
}

void CollectiveExecution::on_line_arrived(std::uint32_t slot, std::uint32_t state) {
  Call& call = calls_[slot];
  const StateKey key = key_of(call, state);
  for (const std::uint32_t seat : line_of(call, key).seats) {
    const std::uint32_t there = state_of(call, {seat, key.chunk, key.phase});
    call.states[there].through = true;
    touch(slot, there);
  }
}

}  // namespace orrery
