#include "workload/import/kineto/batches.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace orrery {
namespace {

bool is_batch(const KinetoOperation& operation) {
  if (!operation.is_communication) return false;
  if (operation.message) return operation.message->collective == "coalesced";
  return operation.name.find("SendRecv") != std::string::npos;
}

// External ids of calls with a kernel of their own; nothing when one has none.
std::optional<std::set<std::int64_t>> single_calls(const KinetoTrace& trace) {
  std::set<std::int64_t> result;
  for (const KinetoOperation& operation : trace.operations) {
    if (!operation.message || (operation.message->collective != "send" && operation.message->collective != "recv"))
      continue;
    if (operation.external < 0) return std::nullopt;
    result.insert(operation.external);
  }
  return result;
}

// Batches by the time of the call that launched them.
std::vector<std::pair<KinetoTime, KinetoOperation*>> launched_batches(KinetoTrace& trace) {
  std::unordered_map<std::int64_t, KinetoTime> launches;
  for (const KinetoLaunch& launch : trace.launches) launches.emplace(launch.correlation, launch.begin);
  std::vector<std::pair<KinetoTime, KinetoOperation*>> result;
  for (KinetoOperation& operation : trace.operations) {
    if (!is_batch(operation)) continue;
    if (const auto launch = launches.find(operation.correlation); launch != launches.end())
      result.emplace_back(launch->second, &operation);
  }
  std::ranges::stable_sort(result, {}, &std::pair<KinetoTime, KinetoOperation*>::first);
  return result;
}

}  // namespace

void give_batches(KinetoTrace& trace) {
  if (std::ranges::none_of(trace.operations, is_batch)) return;
  const std::optional<std::set<std::int64_t>> singles = single_calls(trace);
  if (!singles) return;
  std::vector<KinetoHostMessage> calls = trace.host_messages;
  std::erase_if(calls, [&](const KinetoHostMessage& call) { return singles->contains(call.external); });
  std::ranges::stable_sort(calls, {}, &KinetoHostMessage::begin);
  auto next = calls.begin();
  for (auto& [launch, operation] : launched_batches(trace))
    for (; next != calls.end() && next->begin <= launch; ++next) operation->batch.push_back(next->message);
}

}  // namespace orrery
