// SPDX-License-Identifier: MIT
#include "workload/graph/execution_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/assert.h"
#include "core/hash.h"

namespace orrery::workload {
namespace {

template <class Element>
std::size_t bytes_of(const std::vector<Element>& column) {
  return column.capacity() * sizeof(Element);
}

std::size_t bytes_of(const std::vector<bool>& column) { return column.capacity() / 8; }

template <class... Columns>
std::size_t bytes_of(const std::tuple<Columns...>& columns) {
  return std::apply([](const auto&... column) { return (std::size_t{0} + ... + bytes_of(column)); }, columns);
}

// Stores one value of a column of `numbers`, which stays empty as long as all are zero.
template <class Value>
void store(std::vector<Value>& column, std::uint32_t number, std::uint32_t numbers, Value value) {
  if (column.empty() && value == Value{}) return;
  column.resize(numbers);
  column[number] = value;
}

template <class Value>
void drop_if_zero(std::vector<Value>& column) {
  if (std::ranges::all_of(column, [](const Value& value) { return value == Value{}; })) column.clear();
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, kNodeKindCount> kNames = {
      "free",       "host compute", "compute", "memory load",  "memory store",
      "collective", "send",         "receive", "copy to host", "copy to device"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_on_device(NodeKind kind) { return kind != NodeKind::kNoOp && kind != NodeKind::kHostCompute; }

std::span<const NodeId> ExecutionGraph::calls(std::uint32_t slot) const {
  return std::span(form_->calls)
      .subspan(form_->call_offsets[slot], form_->call_offsets[slot + 1] - form_->call_offsets[slot]);
}

std::uint32_t ExecutionGraph::collective_index(NodeId node) const {
  ORRERY_ASSERT(kind(node) == NodeKind::kCollective);
  return form_->ordinals[index_of(node)];
}

std::uint32_t ExecutionGraph::transfer_index(NodeId node) const {
  ORRERY_ASSERT(is_transfer(kind(node)));
  return form_->ordinals[index_of(node)];
}

bool ExecutionGraph::has_same_transfers(const ExecutionGraph& other) const {
  return form_ == other.form_ &&
         std::ranges::all_of(transfers(), [&](NodeId node) { return bytes(node) == other.bytes(node); });
}

std::uint32_t ExecutionGraph::written_out_size() const {
  if (size() == 0) return 0;
  const NodeId last{static_cast<std::uint32_t>(size() - 1)};
  const std::optional<Repetition> repetition = this->repetition(last);
  if (!repetition) return number(last) + 1;
  return number(last) + (repetition->is_rest ? 0 : form_->stretches[repetition->stretch].count);
}

GraphNode ExecutionGraph::node(NodeId node) const {
  GraphNode result{.kind = kind(node),
                   .duration = duration(node),
                   .flops = flops(node),
                   .bytes = bytes(node),
                   .stream = stream(node),
                   .priority = priority(node),
                   .repetition = repetition(node),
                   .host = host(node),
                   .processor_bound = processor_bound(node)};
  if (result.kind == NodeKind::kCollective) {
    result.collective = collective_kind(node);
    result.slot = communicator_slot(node);
  } else if (is_transfer(result.kind)) {
    result.slot = peer_slot(node);
  }
  return result;
}

void ExecutionGraph::store_amounts(Amounts& amounts, std::uint32_t number, std::uint32_t numbers,
                                   const GraphNode& node) {
  store(amounts.durations, number, numbers, node.duration.value_or(Duration::zero()));
  store(amounts.flops, number, numbers, node.flops);
  store(amounts.bytes, number, numbers, node.bytes);
  store(amounts.host_launches, number, numbers, node.host.launches);
  store(amounts.host_spans, number, numbers, node.host.span);
  store(amounts.processor_bounds, number, numbers, node.processor_bound ? 1 + *node.processor_bound : 0U);
}

ExecutionGraph ExecutionGraph::with_amounts(std::span<const ChangedNode> changed) const {
  auto amounts = std::make_shared<Amounts>(*amounts_);
  for (const ChangedNode& change : changed) {
    ORRERY_ASSERT(change.amounts.kind == kind(change.node));
    ORRERY_ASSERT(change.amounts.duration.has_value() == duration(change.node).has_value());
    const HostWork host = this->host(change.node);
    ORRERY_ASSERT((change.amounts.host.launches > Duration::zero()) == (host.launches > Duration::zero()));
    store_amounts(*amounts, amount_number(change.node), amount_numbers(), change.amounts);
  }
  std::apply([](auto&... column) { (drop_if_zero(column), ...); },
             std::tie(amounts->durations, amounts->flops, amounts->bytes, amounts->host_launches, amounts->host_spans,
                      amounts->processor_bounds));
  ExecutionGraph graph = *this;
  graph.derive_host(*amounts, amounts_.get());
  graph.hash_ = hash_of({form_hash_, content_hash_of(*amounts)});
  graph.amounts_ = std::move(amounts);
  return graph;
}

// Effect of launching one thing behind another.
ExecutionGraph::HostEffect ExecutionGraph::HostEffect::then(const HostEffect& next) const {
  return next.synchronises ? next : HostEffect{synchronises, next.after(busy)};
}

ExecutionGraph::HostEffect ExecutionGraph::host_effect(const Amounts& amounts, NodeId node,
                                                       std::span<const HostEffect> of_stretches) const {
  if (const std::optional<Repetition> repeated = repetition(node))
    return repeated->is_rest ? HostEffect{} : of_stretches[repeated->stretch];
  if (form_->is_synchronisation[index_of(node)]) return {true, {}};
  return {false, value_of(amounts.host_launches, node)};
}

// Effects by stretch; each repeats those before it only.
std::vector<ExecutionGraph::HostEffect> ExecutionGraph::host_effects_of_stretches(const Amounts& amounts) const {
  std::vector<HostEffect> effects;
  for (const Stretch& stretch : form_->stretches) {
    HostEffect effect;
    for (std::uint32_t offset = 0; offset < stretch.count; ++offset)
      effect = effect.then(host_effect(amounts, NodeId(index_of(stretch.first) + offset), effects));
    effects.push_back(effect);
  }
  return effects;
}

// Fills in what follows for the host. `alike`: amounts of the same form, of which it is taken where it is the same; may
// be null.
void ExecutionGraph::derive_host(Amounts& amounts, const Amounts* alike) const {
  amounts.host_ahead = Duration::zero();
  amounts.initial_synchronisations = 0;
  if (amounts.host_launches.empty()) {
    amounts.host_course = nullptr;
    return;
  }
  const bool is_alike = alike != nullptr && alike->host_launches == amounts.host_launches;
  amounts.host_course = is_alike ? alike->host_course : std::make_shared<const HostCourse>(host_course_of(amounts));
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Duration span = value_of(amounts.host_spans, NodeId(i));
    if (span == Duration::zero()) continue;
    amounts.initial_synchronisations = synchronisations_before(NodeId(i));
    amounts.host_ahead = std::max(Duration::zero(), saturating_add(amounts.host_course->before[i], span) -
                                                        value_of(amounts.durations, NodeId(i)));
    return;
  }
}

ExecutionGraph::HostCourse ExecutionGraph::host_course_of(const Amounts& amounts) const {
  HostCourse course;
  course.before.reserve(size());
  course.through.reserve(form_->synchronisations.size());
  const std::vector<HostEffect> of_stretches = host_effects_of_stretches(amounts);
  Duration before{}, through{};
  for (std::uint32_t i = 0; i < size(); ++i) {
    course.before.push_back(before);
    const HostEffect effect = host_effect(amounts, NodeId(i), of_stretches);
    before = effect.after(before);
    if (effect.synchronises)
      course.through.push_back(std::exchange(through, Duration::zero()));
    else if (kind(NodeId(i)) == NodeKind::kCompute && effect.busy > Duration::zero())
      through = before;
  }
  return course;
}

std::uint32_t ExecutionGraph::synchronisations_before(NodeId node) const {
  const auto at = std::ranges::lower_bound(form_->synchronisations, node);
  return static_cast<std::uint32_t>(at - form_->synchronisations.begin());
}

// A hash of the amounts of all nodes, whatever their amount numbers: a sum over the nodes of the hash of a node's
// amounts times a number that depends on its place. Form::weights has the sums of these numbers.
std::uint64_t ExecutionGraph::content_hash_of(const Amounts& amounts) const {
  const auto value = [](const auto& column, std::uint32_t number) {
    if (column.empty()) return std::uint64_t{0};
    if constexpr (requires { column.front().count(); })
      return static_cast<std::uint64_t>(column[number].count());
    else
      return static_cast<std::uint64_t>(column[number]);
  };
  std::uint64_t sum = 0;
  for (std::uint32_t number = 0; number < numbering_->count; ++number) {
    const std::uint64_t weight = numbering_->weights.empty() ? mixed(number) : numbering_->weights[number];
    sum += weight *
           std::apply([&](const auto&... column) { return hash_of({value(column, number)...}); }, amounts.content());
  }
  return sum;
}

// Forms of equal content have equal derived data, but for whether the host takes time.
bool ExecutionGraph::share_form(const ExecutionGraph& other) {
  if (form_ == other.form_) return true;
  const bool is_same = form_hash_ == other.form_hash_ && form_->content() == other.form_->content() &&
                       form_->stretches == other.form_->stretches &&
                       form_->is_synchronisation == other.form_->is_synchronisation;
  if (is_same) form_ = other.form_;
  return is_same;
}

bool ExecutionGraph::operator==(const ExecutionGraph& other) const {
  if (hash_ != other.hash_) return false;
  const bool is_same_form = form_ == other.form_ ||
                            (form_->content() == other.form_->content() && form_->stretches == other.form_->stretches);
  if (!is_same_form) return false;
  if (numbering_ == other.numbering_ || numbering_->of == other.numbering_->of)
    return amounts_ == other.amounts_ || amounts_->content() == other.amounts_->content();
  for (std::uint32_t i = 0; i < size(); ++i)
    if (node(NodeId(i)) != other.node(NodeId(i))) return false;
  return true;
}

std::size_t ExecutionGraph::memory_bytes() const {
  const Form& form = *form_;
  const auto derived = std::tie(form.ordinals, form.predecessor_counts, form.order, form.collective_nodes,
                                form.call_offsets, form.calls, form.transfer_nodes, form.is_synchronisation,
                                numbering_->of, numbering_->uses, numbering_->first_nodes, numbering_->weights);
  std::size_t others = bytes_of(form.stretches);
  if (has_host()) others += bytes_of(amounts_->host_course->before) + bytes_of(amounts_->host_course->through);
  for (const Stretch& stretch : form.stretches) others += bytes_of(stretch.tail);
  return sizeof(*this) + sizeof(Form) + sizeof(Numbering) + sizeof(Amounts) + others + bytes_of(form.content()) +
         bytes_of(derived) + bytes_of(amounts_->content());
}

}  // namespace orrery::workload
