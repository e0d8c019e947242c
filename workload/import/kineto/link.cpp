// SPDX-License-Identifier: MIT
#include "workload/import/kineto/link.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/import/kineto/messages.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kLibrary = "nccl:";

// The operators of each thread as they nest: by begin, the outer one first.
std::map<std::string, std::vector<KinetoHostOperator*>> by_thread(KinetoTrace& trace) {
  std::map<std::string, std::vector<KinetoHostOperator*>> threads;
  for (KinetoHostOperator& host : trace.host_operators) threads[host.thread].push_back(&host);
  for (auto& [thread, operators] : threads)
    std::ranges::stable_sort(operators, [](const KinetoHostOperator* a, const KinetoHostOperator* b) {
      return std::pair(a->begin, -a->end) < std::pair(b->begin, -b->end);
    });
  return threads;
}

// The number behind `mark` in "send 0->1" and "recv 0<-1".
std::int64_t number_behind(std::string_view name, std::string_view mark) {
  const std::size_t at = name.find(mark);
  std::int64_t number = -1;
  if (at == std::string_view::npos) return number;
  const char* const begin = name.data() + at + mark.size();
  return std::from_chars(begin, name.data() + name.size(), number).ec == std::errc() ? number : -1;
}

// Message from the name "nccl:NAME" and from the c10d operator around it, which has the sizes on both sides.
KinetoMessage message_of(const KinetoHostOperator& library, const KinetoHostOperator* c10d) {
  const std::string_view name = std::string_view(library.name).substr(kLibrary.size());
  KinetoMessage message;
  message.collective = name.substr(0, name.find(' '));
  message.type = library.type;
  for (const std::int64_t elements : library.elements)
    message.input_elements = std::min(std::max<std::int64_t>(message.input_elements, 0) + elements, kMostElements);
  message.output_elements = message.input_elements;
  message.destination = number_behind(name, "->");
  message.source = number_behind(name, "<-");
  if (c10d == nullptr || c10d->elements.size() < 2) return message;
  const std::int64_t output = c10d->elements[0];
  const std::int64_t input = c10d->elements[1];
  if (input != message.input_elements || input <= 0 || output <= 0) return message;
  message.output_elements = output;
  const auto kind = operation_kind(message.collective);
  const bool gathers = kind && kind->collective == CollectiveKind::kAllGather;
  const bool scatters = kind && kind->collective == CollectiveKind::kReduceScatter;
  if (gathers && output % input == 0) message.group_size = output / input;
  if (scatters && input % output == 0) message.group_size = input / output;
  return message;
}

bool is_library(const KinetoHostOperator& host) { return host.name.starts_with(kLibrary); }

// The innermost operator around an instant of a thread for which `wanted` holds.
template <class Wanted>
KinetoHostOperator* around(const std::vector<KinetoHostOperator*>& operators, KinetoTime instant, Wanted wanted) {
  constexpr int kMostBefore = 64;  // operators of c10d neither nest deeply nor overlap
  auto next = std::ranges::upper_bound(operators, instant, {}, &KinetoHostOperator::begin);
  for (int i = 0; i < kMostBefore && next != operators.begin(); ++i) {
    KinetoHostOperator* const host = *--next;
    if (host->end >= instant && wanted(*host)) return host;
  }
  return nullptr;
}

bool is_c10d(const KinetoHostOperator& host) { return host.name.starts_with("c10d::"); }

// --- the execution trace

bool is_alike(const KinetoMessage& host, const KinetoMessage& call) {
  if (host.collective == "wait" || call.collective == "wait") return host.collective == call.collective;
  const auto one = operation_kind(host.collective);
  const auto other = operation_kind(call.collective);
  if (!one || !other || one->type != other->type || one->collective != other->collective) return false;
  return host.input_elements < 0 || call.input_elements < 0 || host.input_elements == call.input_elements;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;  // of a call on the host and one of the execution trace

Pairs by_record_function(const std::vector<KinetoHostOperator*>& host, const std::vector<ExecutionTraceCall>& calls) {
  std::unordered_map<std::int64_t, std::size_t> known;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].record_function > 0) known.emplace(calls[i].record_function, i);
  Pairs pairs;
  for (std::size_t i = 0; i < host.size(); ++i) {
    const auto call = known.find(host[i]->record_function);
    if (call != known.end() && is_alike(host[i]->message, calls[call->second].message))
      pairs.emplace_back(i, call->second);
  }
  return pairs;
}

// The longest common subsequence, by the table of its lengths.
Pairs in_order(const std::vector<KinetoHostOperator*>& host, const std::vector<ExecutionTraceCall>& calls) {
  constexpr std::size_t kMostCells = 64'000'000;
  const std::size_t width = calls.size() + 1;
  if (host.size() + 1 > kMostCells / width) return {};
  std::vector<std::uint32_t> length((host.size() + 1) * width, 0);
  for (std::size_t i = host.size(); i-- > 0;)
    for (std::size_t k = calls.size(); k-- > 0;)
      length[i * width + k] = is_alike(host[i]->message, calls[k].message)
                                  ? length[(i + 1) * width + k + 1] + 1
                                  : std::max(length[(i + 1) * width + k], length[i * width + k + 1]);
  Pairs pairs;
  for (std::size_t i = 0, k = 0; i < host.size() && k < calls.size();) {
    if (is_alike(host[i]->message, calls[k].message))
      pairs.emplace_back(i++, k++);
    else if (length[(i + 1) * width + k] >= length[i * width + k + 1])
      ++i;
    else
      ++k;
  }
  return pairs;
}

// Fills in what the host did not note itself.
void complete(KinetoMessage& message, const KinetoMessage& call) {
  const KinetoMessage noted = std::exchange(message, call);
  if (!noted.group.empty()) message.group = noted.group, message.description = noted.description;
  if (!noted.ranks.empty()) message.ranks = noted.ranks;
  const auto keep = [&](std::int64_t KinetoMessage::*number) {
    if (noted.*number >= 0 && message.*number < 0) message.*number = noted.*number;
  };
  for (const auto number :
       {&KinetoMessage::input_elements, &KinetoMessage::output_elements, &KinetoMessage::group_size,
        &KinetoMessage::first_rank, &KinetoMessage::rank_stride, &KinetoMessage::source, &KinetoMessage::destination})
    keep(number);
  if (!element_size(message.type)) message.type = noted.type;
}

// --- kernels of several messages

bool is_message(const KinetoMessage& message) { return message.collective == "send" || message.collective == "recv"; }

bool is_batch(const KinetoOperation& operation) {
  if (!operation.is_communication) return false;
  if (operation.message) return operation.message->collective == "coalesced";
  return operation.name.find("SendRecv") != std::string::npos;
}

// External ids of calls with a kernel of their own; nothing when one has none.
std::optional<std::set<std::int64_t>> single_calls(const KinetoTrace& trace) {
  std::set<std::int64_t> result;
  for (const KinetoOperation& operation : trace.operations) {
    if (!operation.message || !is_message(*operation.message)) continue;
    if (operation.external < 0) return std::nullopt;
    result.insert(operation.external);
  }
  return result;
}

using Launches = std::unordered_map<std::int64_t, const KinetoLaunch*>;

void give_batches(KinetoTrace& trace, const Launches& launches) {
  if (std::ranges::none_of(trace.operations, is_batch)) return;
  const std::optional<std::set<std::int64_t>> singles = single_calls(trace);
  if (!singles) return;
  std::vector<const KinetoHostOperator*> calls;
  for (const KinetoHostOperator& host : trace.host_operators)
    if (host.is_call() && is_message(host.message) && !singles->contains(host.external)) calls.push_back(&host);
  std::ranges::stable_sort(calls, {}, &KinetoHostOperator::begin);
  std::vector<std::pair<KinetoTime, KinetoOperation*>> batches;  // by the time of the call that launched them
  for (KinetoOperation& operation : trace.operations) {
    if (!is_batch(operation)) continue;
    if (const auto launch = launches.find(operation.correlation); launch != launches.end())
      batches.emplace_back(launch->second->begin, &operation);
  }
  std::ranges::stable_sort(batches, {}, &std::pair<KinetoTime, KinetoOperation*>::first);
  auto next = calls.begin();
  for (auto& [launch, operation] : batches)
    for (; next != calls.end() && (*next)->begin <= launch; ++next) operation->batch.push_back((*next)->message);
}

}  // namespace

void note_host_calls(KinetoTrace& trace) {
  if (std::ranges::none_of(trace.host_operators, is_library)) return;
  for (auto& [thread, operators] : by_thread(trace)) {
    for (auto host = operators.begin(); host != operators.end(); ++host) {
      KinetoHostOperator& call = **host;
      if (!call.is_call() || !call.message.collective.empty()) continue;
      call.message.collective = "wait";
      for (auto next = std::next(host); next != operators.end() && (*next)->begin <= call.end; ++next) {
        if (!is_library(**next)) continue;
        call.message = message_of(**next, around(operators, call.begin, is_c10d));
        break;
      }
    }
  }
}

std::size_t link_execution_trace(const std::string& file, const ExecutionTrace& execution, KinetoTrace& trace) {
  for (const auto& [name, ranks] : execution.group_ranks) trace.group_ranks.try_emplace(name, ranks);
  if (!trace.world) trace.world = execution.world;
  if (!trace.rank) trace.rank = execution.rank();
  std::vector<KinetoHostOperator*> host;
  for (KinetoHostOperator& one : trace.host_operators)
    if (one.is_call()) host.push_back(&one);
  std::ranges::stable_sort(host, {}, &KinetoHostOperator::begin);
  Pairs pairs = by_record_function(host, execution.calls);
  if (pairs.empty()) pairs = in_order(host, execution.calls);
  const std::size_t fewer = std::min(host.size(), execution.calls.size());
  if (fewer > 0 && pairs.size() < (fewer + 1) / 2)
    throw InputError({file},
                     fmt::format("only {} of its {} calls of c10d have a partner among the {} of the profile",
                                 pairs.size(), execution.calls.size(), host.size()),
                     "an execution trace and a profile belong together where they were recorded in the same step");
  for (const auto& [one, other] : pairs) complete(host[one]->message, execution.calls[other].message);
  return pairs.size();
}

void note_kernels(KinetoTrace& trace) {
  Launches launches;
  for (const KinetoLaunch& launch : trace.launches) launches.emplace(launch.correlation, &launch);
  const auto threads = by_thread(trace);
  const auto is_noted = [](const KinetoHostOperator& host) {
    return is_library(host) ||
           (host.is_call() && !host.message.collective.empty() && host.message.collective != "wait");
  };
  for (KinetoOperation& operation : trace.operations) {
    if (!operation.is_communication || operation.message) continue;
    const auto launch = launches.find(operation.correlation);
    if (launch == launches.end()) continue;
    const auto thread = threads.find(launch->second->thread);
    if (thread == threads.end()) continue;
    const KinetoTime instant = launch->second->begin;
    const auto is_noted_call = [&](const KinetoHostOperator& host) { return host.is_call() && is_noted(host); };
    if (const KinetoHostOperator* const call = around(thread->second, instant, is_noted_call))
      operation.message = call->message;
    else if (const KinetoHostOperator* const library = around(thread->second, instant, is_library))
      operation.message = message_of(*library, around(thread->second, instant, is_c10d));
  }
  give_batches(trace, launches);
}

}  // namespace orrery::workload
