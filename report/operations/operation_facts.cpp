// SPDX-License-Identifier: MIT
#include "report/operations/operation_facts.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/error.h"
#include "core/files/trace_events.h"
#include "workload/calls/operation.h"

namespace orrery::report {
namespace {

using workload::NodeKind;

void add_way(const CommunicationWay* way, Duration moving, OperationFacts& facts) {
  if (way == nullptr) return;
  facts.algorithm = way->algorithm;
  facts.protocol = way->protocol;
  if (moving > Duration::zero() && way->on_its_slowest_link > Duration::zero())
    facts.peak_share = seconds(way->on_its_slowest_link) / seconds(moving);
}

// `time`: in which the bytes move, more than none.
void add_rates(const workload::ExecutionGraph& graph, NodeId node, Duration time, std::optional<FlopRate> peak,
               OperationFacts& facts) {
  const NodeKind kind = graph.kind(node);
  Bytes size = facts.bytes;
  if (kind == NodeKind::kCollective) {
    const workload::CallOperation& operation = workload::call_operation(graph.collective_kind(node));
    size = workload::call_size(graph.collective_kind(node), facts.bytes, facts.group_size);
    if (size.count() > 0 && facts.group_size > 1)
      facts.bus_bandwidth =
          static_cast<double>(size.count()) / seconds(time) * workload::bus_factor(operation, facts.group_size);
  }
  if (size.count() > 0) facts.bandwidth = static_cast<double>(size.count()) / seconds(time);
  if (facts.flops.count() == 0) return;
  facts.flop_rate = static_cast<double>(facts.flops.count()) / seconds(time);
  if (peak) facts.peak_share = *facts.flop_rate / static_cast<double>(peak->count());
}

constexpr std::size_t kLongestText = 200;

std::optional<std::string_view> words_of(const FactValue& value) {
  if (const auto* own = std::get_if<std::string>(&value)) return *own;
  if (const auto* words = std::get_if<std::string_view>(&value)) return *words;
  return std::nullopt;
}

// Figures with six digits.
void add_number(const FactValue& value, std::string& text) {
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), *whole);
  else if (const auto* figure = std::get_if<double>(&value))
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{:.6g}"), *figure);
}

// True of texts that are cells as they are.
bool is_plain(std::string_view words) {
  const auto is_letter = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
  };
  return words.size() <= kLongestText && (words.empty() || is_letter(words.front())) &&
         std::ranges::all_of(words, [&](char c) {
           return is_letter(c) || std::string_view(" _/+-.:()").find(c) != std::string_view::npos;
         });
}

FactValue text(std::string_view value) { return value.empty() ? FactValue() : FactValue(value); }
FactValue figure(std::optional<double> value, double unit) { return value ? FactValue(*value / unit) : FactValue(); }
FactValue whole(std::optional<std::int64_t> value) { return value ? FactValue(*value) : FactValue(); }
FactValue positive(std::int64_t value) { return value > 0 ? FactValue(value) : FactValue(); }

FactValue of_pass(const OperationFacts& facts, std::uint32_t PassSpan::*member) {
  return facts.pass == nullptr ? FactValue() : FactValue(std::int64_t{facts.pass->*member});
}
FactValue picoseconds(Time time) { return FactValue(std::int64_t{time.time_since_epoch().count()}); }

using enum FactUse;

constexpr std::array kColumns = {
    FactColumn{"rank", "the rank",
               [](const OperationFacts& f) { return FactValue(std::int64_t{index_of(f.chosen.rank)}); }, kTable, true},
    FactColumn{"stands_for",
               "how many ranks its lines stand for: the size of its class with `--ranks classes`, otherwise 1",
               [](const OperationFacts& f) { return FactValue(static_cast<std::int64_t>(f.chosen.stands_for)); },
               kTable, true},
    FactColumn{"node", "id in the trace, or in the traces that `workload generate` writes",
               [](const OperationFacts& f) { return FactValue(static_cast<std::int64_t>(f.node)); }},
    FactColumn{"name", "of the node", [](const OperationFacts& f) { return FactValue(f.name); }, kTable},
    FactColumn{"kind",
               "`compute`, `host compute`, `memory load`, `memory store`, `collective`, `send`, `receive`, `copy to "
               "host`, `copy to device`, `free`",
               [](const OperationFacts& f) { return FactValue(workload::name_of(f.kind)); }},
    FactColumn{"detail", "of a collective: operation and communicator; of a message: `to` or `from` which rank",
               [](const OperationFacts& f) { return FactValue(f.detail); }, kTable, true},
    FactColumn{"bytes", "of a collective or message: the rank's input; of computing: its memory traffic, where known",
               [](const OperationFacts& f) { return FactValue(f.bytes.count()); }},
    FactColumn{"start_ps", "when the rank issued it, in picoseconds",
               [](const OperationFacts& f) { return picoseconds(f.start); }, kTable},
    FactColumn{
        "moving_ps",
        "when it began to move: the last member of a collective had come, the sender of a receive had started, the "
        "receive that a send waited for was posted, the host had launched a computation; otherwise `start_ps`",
        [](const OperationFacts& f) { return picoseconds(f.moving); }, kTable},
    FactColumn{"end_ps", "when it was done", [](const OperationFacts& f) { return picoseconds(f.end); }, kTable},
    FactColumn{"iteration", "that its pass is of, from 0",
               [](const OperationFacts& f) { return of_pass(f, &PassSpan::iteration); }, kPasses},
    FactColumn{"pass", "forward (F), backward (B) or weight-gradient (W) pass with its micro-batch: F3",
               [](const OperationFacts& f) { return f.pass == nullptr ? FactValue() : FactValue(name_of(*f.pass)); },
               kPasses},
    FactColumn{"micro_batch", "micro-batch, from 0; in pipelines both ways those of the second way follow",
               [](const OperationFacts& f) { return of_pass(f, &PassSpan::micro_batch); }, kPasses},
    FactColumn{"chunk", "which of the rank's virtual stages the pass goes through, from 0",
               [](const OperationFacts& f) {
                 return f.pass == nullptr ? FactValue() : FactValue(std::int64_t{f.pass->pass.chunk});
               },
               kPasses},
    FactColumn{"virtual_stage", "the same, in the order in which a micro-batch goes through the pipeline, from 0",
               [](const OperationFacts& f) { return of_pass(f, &PassSpan::virtual_stage); }, kPasses},
    FactColumn{"stage", "place of the rank in its pipeline, from 0",
               [](const OperationFacts& f) { return f.stage ? FactValue(std::int64_t{*f.stage}) : FactValue(); },
               kPasses},
    FactColumn{"layer", "layer of a transformer, from 0", [](const OperationFacts& f) { return whole(f.layer); }},
    FactColumn{"operation", "kind of a collective", [](const OperationFacts& f) { return text(f.operation); }},
    FactColumn{"algorithm",
               "algorithm of a collective, one for each dimension that it goes along; send/recv of messages",
               [](const OperationFacts& f) { return text(f.algorithm); }},
    FactColumn{"protocol", "protocol of NCCL", [](const OperationFacts& f) { return text(f.protocol); }},
    FactColumn{"group", "communicator of a collective", [](const OperationFacts& f) { return text(f.group); }, kSlices,
               true},
    FactColumn{"group_size", "ranks of that", [](const OperationFacts& f) { return positive(f.group_size); }},
    FactColumn{
        "peer", "rank that a message goes to or comes from",
        [](const OperationFacts& f) { return f.peer ? FactValue(std::int64_t{index_of(*f.peer)}) : FactValue(); },
        kSlices, true},
    FactColumn{"tag", "tag of a message", [](const OperationFacts& f) { return whole(f.tag); }, kSlices, true},
    FactColumn{"flops", "FLOPs of a computation", [](const OperationFacts& f) { return positive(f.flops.count()); }},
    FactColumn{"tflops", "10^12 FLOPs a second", [](const OperationFacts& f) { return figure(f.flop_rate, 1e12); }},
    FactColumn{"bandwidth_GBps",
               "10^9 bytes a second from `moving_ps` to `end_ps`: algorithm bandwidth as nccl-tests has it, or memory "
               "traffic of a computation; none of a receive that was posted when its message was under way",
               [](const OperationFacts& f) { return figure(f.bandwidth, 1e9); }},
    FactColumn{"busbw_GBps", "bus bandwidth of a collective as nccl-tests has it",
               [](const OperationFacts& f) { return figure(f.bus_bandwidth, 1e9); }},
    FactColumn{"peak_share",
               "FLOPs a second over the peak of the device; of communication the share of its slowest link's bandwidth",
               [](const OperationFacts& f) { return figure(f.peak_share, 1); }},
};

}  // namespace

std::span<const FactColumn> fact_columns() { return kColumns; }

std::string facts_text() {
  constexpr std::array<std::string_view, 3> kStars = {"", " \\*", " \\*\\*"};  // by FactUse
  std::string text =
      "\n## operations.csv\n\nWritten by `run --out`, a line for each finished operation. Cells of what an operation "
      "has not are empty. Slices of `run\n--timeline` have the columns with a star as arguments, passes those with "
      "two.\n\n| column | meaning |\n|---|---|\n";
  for (const FactColumn& column : kColumns)
    text += fmt::format("| `{}`{} | {} |\n", column.name, kStars[static_cast<std::size_t>(column.use)], column.meaning);
  return text;
}

std::string facts_heading() {
  std::string text;
  for (const FactColumn& column : kColumns) text += (text.empty() ? "" : ",") + std::string(column.name);
  return text;
}

void add_csv_cell(const FactValue& value, std::string& text) {
  const std::optional<std::string_view> words = words_of(value);
  if (!words)
    add_number(value, text);
  else if (is_plain(*words))
    text += *words;
  else
    text += csv_cell(printable(*words, kLongestText));
}

namespace {

std::string json_arguments(const OperationFacts& facts, FactUse least) {
  std::string text;
  for (const FactColumn& column : kColumns) {
    if (column.use < least) continue;
    const FactValue value = column.of(facts);
    if (std::holds_alternative<std::monostate>(value)) continue;
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}\"{}\":"), text.empty() ? "" : ",", column.name);
    if (const std::optional<std::string_view> words = words_of(value))
      text += json_string(*words);
    else
      add_number(value, text);
  }
  return text;
}

}  // namespace

std::string json_arguments(const OperationFacts& facts) { return json_arguments(facts, kSlices); }

std::string json_arguments(const PassSpan& pass, std::optional<std::uint32_t> stage) {
  OperationFacts facts;
  facts.pass = &pass;
  facts.stage = stage;
  return json_arguments(facts, kPasses);
}

OperationFacts facts_by_rank(const workload::Job& job, const ChosenRank& chosen, NodeId node) {
  const workload::ExecutionGraph& graph = job.graph(chosen.rank);
  OperationFacts facts;
  facts.chosen = chosen;
  facts.kind = graph.kind(node);
  if (facts.kind == NodeKind::kCollective) {
    const workload::Communicator& group = job.communicators[index_of(job.communicator(chosen.rank, node))];
    facts.group = group.name;
    facts.group_size = static_cast<std::uint32_t>(group.members.size());
    facts.operation = name_of(graph.collective_kind(node));
    facts.detail = fmt::format(FMT_COMPILE("{} on {}"), facts.operation, group.name);
  } else if (workload::is_transfer(facts.kind)) {
    facts.peer = job.peer(chosen.rank, node);
    facts.tag = job.tag(chosen.rank, node);
    facts.detail =
        fmt::format(FMT_COMPILE("{} {}"), facts.kind == NodeKind::kSend ? "to" : "from", index_of(*facts.peer));
  }
  return facts;
}

RankFacts::RankFacts(const TimelineSource& source, const ChosenRank& chosen)
    : source_(source),
      chosen_(chosen),
      graph_(source.job.graph(chosen.rank)),
      labels_(source.job.labels_of(chosen.rank)) {
  passes_ = collect_passes(source, chosen);
  if (!passes_) return;
  marks_ = source.training->marks[source.job.ranks.graph(index_of(chosen.rank))].get();
  for (const PassSpan& span : passes_->spans) {
    if (span.is_put_off)
      put_off_.emplace(PassKey{span.iteration, span.pass.kind, span.pass.micro_batch, span.pass.chunk}, &span);
    else
      spans_.try_emplace({span.iteration, span.pass.kind, span.pass.micro_batch, span.pass.chunk}, &span);
  }
}

const PassSpan* RankFacts::pass_of(const system::OperationRecord& operation) const {
  const workload::PassMark* mark = marks_ == nullptr ? nullptr : marks_->pass_at(operation.number);
  if (mark == nullptr || !mark->pass) return nullptr;
  if (!put_off_.empty() && marks_->layer_at(operation.node)->role == workload::PassRole::kPutOff) {
    const auto [first, last] = put_off_.equal_range(
        {mark->iteration, workload::PassKind::kWeight, mark->pass->micro_batch, mark->pass->chunk});
    for (auto one = first; one != last; ++one)
      if (one->second->start <= operation.start && operation.end <= one->second->end) return one->second;
  }
  const auto span = spans_.find({mark->iteration, mark->pass->kind, mark->pass->micro_batch, mark->pass->chunk});
  return span == spans_.end() ? nullptr : span->second;
}

OperationFacts RankFacts::of(const system::OperationRecord& operation) const {
  const workload::Job& job = source_.job;
  const RankId rank = chosen_.rank;
  const NodeId node = operation.node;
  OperationFacts facts = facts_by_rank(job, chosen_, node);
  // A repetition has ids of its own.
  facts.node = labels_.trace_id(node) + (operation.number - graph_.number(node));
  facts.name = labels_.name(node);
  facts.start = operation.start, facts.moving = operation.moving, facts.end = operation.end;
  facts.pass = pass_of(operation);
  if (passes_) facts.stage = passes_->stage;
  const workload::LayerMark* layer = marks_ == nullptr ? nullptr : marks_->layer_at(node);
  if (layer != nullptr && layer->layer >= 0) facts.layer = layer->layer;
  facts.bytes = graph_.bytes(node);
  facts.flops = graph_.flops(node);
  const MachineFacts* machine = source_.machine;
  const CommunicationWay* way = machine == nullptr ? nullptr : machine->way(job, rank, node);
  // A receive that found its message under way says nothing of when that began to move.
  const bool is_late =
      facts.kind == NodeKind::kReceive && operation.moving == operation.start && !(way != nullptr && way->is_awaited);
  const Duration moving = is_late ? Duration::zero() : operation.end - operation.moving;
  add_way(way, moving, facts);
  if (moving > Duration::zero())
    add_rates(graph_, node, moving, machine == nullptr ? std::nullopt : machine->peak(rank), facts);
  return facts;
}

}  // namespace orrery::report
