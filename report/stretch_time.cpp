// SPDX-License-Identifier: MIT
#include "report/stretch_time.h"

#include <algorithm>
#include <set>

namespace orrery::report {
namespace {

using workload::NodeKind;

// Beginning or end of an operation's stay on the device, in its last, slowed part, or in a moving call.
struct Change {
  enum class What : std::uint8_t { kDevice, kSlowed, kCall };
  Duration time{};
  What what{};
  int sign = 1;
  std::uint32_t offset = 0;
};

void add(Change::What what, std::uint32_t offset, Duration from, Duration to, std::vector<Change>& changes) {
  if (from == to) return;
  changes.push_back({from, what, 1, offset});
  changes.push_back({to, what, -1, offset});
}

}  // namespace

StretchTime::StretchTime(const workload::ExecutionGraph& graph, const system::RepetitionRecord& stretch) {
  std::vector<Change> changes;
  first_start_ = Duration::max();
  for (const system::StretchRecord::Part& part : stretch.parts()) {
    const NodeId node{index_of(stretch.first) + part.offset};
    const NodeKind kind = graph.kind(node);
    first_start_ = std::min(first_start_, part.start);
    if (graph.has_host() && graph.host(node).synchronises) concerns_host_ = true;
    if (kind == NodeKind::kCompute && part.moving > part.start) concerns_host_ = true;
    if (kind == NodeKind::kCompute) {
      add(Change::What::kDevice, part.offset, part.start, part.end - part.slowed, changes);
      add(Change::What::kSlowed, part.offset, part.end - part.slowed, part.end, changes);
    } else if (kind == NodeKind::kCollective) {
      add(Change::What::kCall, part.offset, part.start, part.end, changes);
    }
  }
  std::ranges::stable_sort(changes, {}, &Change::time);
  int device = 0, slowed = 0;
  std::set<std::uint32_t> calls;
  Step now;
  for (std::size_t i = 0; i < changes.size();) {
    now.from = changes[i].time;
    for (; i < changes.size() && changes[i].time == now.from; ++i) {
      const Change& change = changes[i];
      if (change.what == Change::What::kDevice) device += change.sign;
      if (change.what == Change::What::kSlowed) slowed += change.sign;
      if (change.what != Change::What::kCall) continue;
      if (change.sign > 0)
        calls.insert(change.offset);
      else
        calls.erase(change.offset);
    }
    now.device = device > 0;
    now.slowed = slowed > 0;
    now.calls = !calls.empty();
    now.first = calls.empty() ? 0 : *calls.begin();
    now.slot = calls.empty() ? 0 : graph.communicator_slot(NodeId(index_of(stretch.first) + now.first));
    if (now.calls && std::ranges::find(slots_, now.slot) == slots_.end()) slots_.push_back(now.slot);
    steps_.push_back(now);
  }
  exposed_.resize(steps_.size() * slots_.size());
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    const Sums sums = sums_before(steps_[i].from);
    steps_[i].computed = sums.compute;
    steps_[i].slowed_before = sums.slowed;
    steps_[i].idle_before = sums.idle;
    for (std::size_t place = 0; place < slots_.size(); ++place)
      exposed_[i * slots_.size() + place] = exposed_before(steps_[i].from, place);
  }
}

std::size_t StretchTime::step_at(Duration time) const {
  const auto behind = std::ranges::upper_bound(steps_, time, {}, &Step::from);
  return static_cast<std::size_t>(behind - steps_.begin()) - 1;
}

StretchTime::Sums StretchTime::sums_before(Duration time) const {
  const auto behind = std::ranges::lower_bound(steps_, time, {}, &Step::from);
  if (behind == steps_.begin()) return {};
  const Step& step = *(behind - 1);
  const Duration more = time - step.from;
  Sums sums{step.computed, step.slowed_before, step.idle_before};
  if (step.device || step.slowed)
    sums.compute += more;
  else if (!step.calls)
    sums.idle += more;
  if (step.slowed && !step.device) sums.slowed += more;
  return sums;
}

StretchTime::Sums StretchTime::sums_between(Duration from, Duration to) const {
  const Sums before = sums_before(from), all = sums_before(to);
  return {all.compute - before.compute, all.slowed - before.slowed, all.idle - before.idle};
}

Duration StretchTime::exposed_before(Duration time, std::size_t place) const {
  const auto behind = std::ranges::lower_bound(steps_, time, {}, &Step::from);
  if (behind == steps_.begin()) return {};
  const Step& step = *(behind - 1);
  const Duration before = exposed_[static_cast<std::size_t>(behind - 1 - steps_.begin()) * slots_.size() + place];
  const bool is_exposed = step.calls && !step.device && !step.slowed && step.slot == slots_[place];
  return is_exposed ? before + (time - step.from) : before;
}

Duration StretchTime::exposed_between(Duration from, Duration to, std::size_t place) const {
  return exposed_before(to, place) - exposed_before(from, place);
}

}  // namespace orrery::report
