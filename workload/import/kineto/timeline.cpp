// SPDX-License-Identifier: MIT
#include "workload/import/kineto/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace orrery::workload {
namespace {

using StreamKey = std::pair<std::int64_t, std::int64_t>;  // device, stream

constexpr KinetoTime kJitter = 1'000;  // of the device's clock: a microsecond

struct Stream {
  StreamKey key;
  std::vector<std::uint32_t> all;  // steps so far
  std::vector<std::uint32_t> computations;
  std::vector<std::uint32_t> communications;
  std::vector<std::uint32_t> waited_for;  // by other stream: 1 + the last step of it that one of this stream waits for
};

StreamKey key_of(const KinetoOperation& operation) { return {operation.device, operation.stream}; }

// In the order in which they began; of a stream, each after the one in front.
std::vector<KinetoStep> steps_of(const KinetoTrace& trace, std::size_t& overlaps) {
  std::vector<std::uint32_t> order(trace.operations.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return trace.operations[i].begin; });
  std::map<StreamKey, KinetoTime> ends;
  std::vector<KinetoStep> steps;
  steps.reserve(order.size());
  for (const std::uint32_t i : order) {
    const KinetoOperation& operation = trace.operations[i];
    const auto [last, is_first] = ends.try_emplace(key_of(operation), operation.begin);
    if (last->second - operation.begin > kJitter) ++overlaps;
    const KinetoTime begin = std::max(operation.begin, last->second);
    last->second = std::max(begin, operation.end);
    steps.push_back({i, begin, last->second, {}});
  }
  std::ranges::stable_sort(steps, {}, &KinetoStep::begin);
  return steps;
}

// Calls of the host that order operations, by correlation, ascending.
struct HostCalls {
  std::vector<std::int64_t> waits;  // outside of c10d
  std::vector<std::int64_t> synchronisations;
};

HostCalls host_calls(const KinetoTrace& trace) {
  std::map<std::string, std::vector<std::pair<KinetoTime, KinetoTime>>> library;
  for (const KinetoHostOperator& span : trace.host_operators)
    if (span.is_call() && span.message.collective != "wait") library[span.thread].emplace_back(span.begin, span.end);
  for (auto& [thread, spans] : library) std::ranges::sort(spans);
  const auto is_in_library = [&](const KinetoCall& call) {
    const auto of_thread = library.find(call.thread);
    if (of_thread == library.end()) return false;
    const auto next =
        std::ranges::upper_bound(of_thread->second, call.begin, {}, &std::pair<KinetoTime, KinetoTime>::first);
    return next != of_thread->second.begin() && std::prev(next)->second >= call.end;
  };
  HostCalls result;
  for (const KinetoCall& call : trace.calls) {
    if (call.correlation < 0) continue;
    if (call.kind == KinetoCallKind::kSynchronize)
      result.synchronisations.push_back(call.correlation);
    else if (!is_in_library(call))
      result.waits.push_back(call.correlation);
  }
  std::ranges::sort(result.waits);
  std::ranges::sort(result.synchronisations);
  return result;
}

// The largest of the ascending `values` in (after, before).
std::optional<std::int64_t> last_between(const std::vector<std::int64_t>& values, std::int64_t after,
                                         std::int64_t before) {
  const auto next = std::ranges::lower_bound(values, before);
  if (next == values.begin() || *std::prev(next) <= after) return std::nullopt;
  return *std::prev(next);
}

class TimelineMaker {
 public:
  explicit TimelineMaker(const KinetoTrace& trace) : trace_(trace), calls_(host_calls(trace)) {
    knows_launches_ = trace.has_host_calls &&
                      std::ranges::all_of(trace.operations,
                                          [](const KinetoOperation& operation) { return operation.correlation >= 0; });
    for (const KinetoStreamWait& wait : trace.waits) waits_[{wait.device, wait.stream}].push_back(&wait);
    for (auto& [stream, waits] : waits_) std::ranges::sort(waits, {}, &KinetoStreamWait::correlation);
  }

  KinetoTimeline make() && {
    KinetoTimeline result;
    steps_ = steps_of(trace_, result.overlaps);
    number_streams();
    for (std::uint32_t i = 0; i < steps_.size() && result.waits <= kMostKinetoWaits; ++i) {
      connect(i);
      result.waits += steps_[i].after.size();
      wait_for_host(steps_[i]);
      Stream& stream = streams_[stream_of_[i]];
      stream.all.push_back(i);
      (operation(i).is_communication ? stream.communications : stream.computations).push_back(i);
    }
    result.steps = std::move(steps_);
    return result;
  }

 private:
  const KinetoOperation& operation(std::uint32_t step) const { return trace_.operations[steps_[step].operation]; }
  std::int64_t launch(std::uint32_t step) const { return operation(step).correlation; }

  void number_streams() {
    std::map<StreamKey, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) numbers.try_emplace(key_of(operation(i)));
    for (auto& [key, number] : numbers) {
      number = static_cast<std::uint32_t>(streams_.size());
      streams_.push_back({key, {}, {}, {}, {}});
    }
    for (std::uint32_t i = 0; i < steps_.size(); ++i) stream_of_.push_back(numbers.at(key_of(operation(i))));
  }

  void connect(std::uint32_t i) {
    const std::vector<std::uint32_t>& own = streams_[stream_of_[i]].all;
    std::optional<std::uint32_t> last;
    if (!own.empty()) last = own.back();
    if (last) steps_[i].after.push_back(*last);
    if (!knows_launches_)
      connect_by_time(i, last);
    else
      connect_by_launch(i, last ? launch(*last) : -1);
    std::ranges::sort(steps_[i].after);
  }

  // An operation before which the stream has waited already needs no second wait.
  void wait_for(std::uint32_t i, std::uint32_t before) {
    std::vector<std::uint32_t>& waited_for = streams_[stream_of_[i]].waited_for;
    waited_for.resize(streams_.size());
    std::uint32_t& waited = waited_for[stream_of_[before]];
    if (waited > before) return;
    waited = before + 1;
    steps_[i].after.push_back(before);
  }

  // The last of `candidates` that had ended when step `i` began and was launched before `limit`.
  std::optional<std::uint32_t> last_of(const std::vector<std::uint32_t>& candidates, std::uint32_t i,
                                       std::int64_t limit) const {
    auto end = candidates.end();
    while (end != candidates.begin() && steps_[*std::prev(end)].end > steps_[i].begin) --end;
    if (knows_launches_ && end != candidates.begin() && launch(*std::prev(end)) >= limit)
      end = std::partition_point(candidates.begin(), end, [&](std::uint32_t step) { return launch(step) < limit; });
    if (end == candidates.begin()) return std::nullopt;
    return *std::prev(end);
  }

  void connect_to(std::uint32_t i, std::vector<std::uint32_t> Stream::*which, std::int64_t limit,
                  std::optional<std::int64_t> only_stream = {}) {
    const std::uint32_t own = stream_of_[i];
    for (std::uint32_t s = 0; s < streams_.size(); ++s) {
      if (s == own || (only_stream && streams_[s].key != StreamKey{streams_[own].key.first, *only_stream})) continue;
      if (const auto step = last_of(streams_[s].*which, i, limit)) wait_for(i, *step);
    }
  }

  void connect_by_launch(std::uint32_t i, std::int64_t last_launch) {
    const std::int64_t own_launch = launch(i);
    if (const auto call = last_between(calls_.synchronisations, last_launch, own_launch))
      connect_to(i, &Stream::all, *call);
    if (!trace_.waits.empty()) return connect_by_events(i, last_launch);
    if (operation(i).is_communication) return connect_to(i, &Stream::computations, own_launch);
    if (const auto call = last_between(calls_.waits, last_launch, own_launch)) connect_to(i, &Stream::all, *call);
  }

  void connect_by_events(std::uint32_t i, std::int64_t last_launch) {
    const auto of_stream = waits_.find(key_of(operation(i)));
    if (of_stream == waits_.end()) return;
    const auto& waits = of_stream->second;
    for (auto wait = std::ranges::upper_bound(waits, last_launch, {}, &KinetoStreamWait::correlation);
         wait != waits.end() && (*wait)->correlation < launch(i); ++wait) {
      const std::int64_t limit = (*wait)->recorded_by >= 0 ? (*wait)->recorded_by : (*wait)->correlation;
      if ((*wait)->on_stream >= 0)
        connect_to(i, &Stream::all, limit, (*wait)->on_stream);
      else
        connect_to(i, &Stream::all, limit);
    }
  }

  void connect_by_time(std::uint32_t i, std::optional<std::uint32_t> last) {
    constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
    if (operation(i).is_communication) return connect_to(i, &Stream::computations, kNoLimit);
    for (std::uint32_t s = 0; s < streams_.size(); ++s) {
      if (s == stream_of_[i]) continue;
      const auto step = last_of(streams_[s].communications, i, kNoLimit);
      if (step && (!last || steps_[*step].end > steps_[*last].end)) wait_for(i, *step);
    }
  }

  void wait_for_host(KinetoStep& step) {
    const KinetoTime origin = steps_.front().begin;
    KinetoTime ready = origin;
    for (const std::uint32_t before : step.after) ready = std::max(ready, steps_[before].end);
    if (step.begin <= ready) return;
    step.waits_for_host = true;
    const KinetoTime host_free = host_done_.value_or(origin);
    step.host = step.begin - std::max(ready, host_free);
    step.host_after = ready > host_free;
    if (step.host > 0) host_done_ = step.begin;
  }

  const KinetoTrace& trace_;
  HostCalls calls_;
  bool knows_launches_ = false;
  std::map<StreamKey, std::vector<const KinetoStreamWait*>> waits_;
  std::vector<Stream> streams_;           // ascending by key
  std::vector<std::uint32_t> stream_of_;  // by step, into streams_
  std::vector<KinetoStep> steps_;
  std::optional<KinetoTime> host_done_;
};

}  // namespace

KinetoTimeline make_timeline(const KinetoTrace& trace) { return TimelineMaker(trace).make(); }

}  // namespace orrery::workload
