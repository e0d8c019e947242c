// SPDX-License-Identifier: MIT
#include "workload/traces/alike.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "workload/chakra/file.h"
#include "workload/chakra/foreign.h"
#include "workload/chakra/wire.h"
#include "workload/traces/dependency_check.h"
#include "workload/traces/node.h"

namespace orrery::workload {
namespace {

// The attributes that say what a rank calls its communicators, peers, tags and roots (workload/traces/node.cpp).
constexpr std::array<std::string_view, 9> kNames = {"pg_name",  "comm_group", "pg_desc",   "comm_src", "comm_dst",
                                                    "comm_tag", "root",       "root_rank", "src_rank"};

// Name among kNames of a node's field; "" for any other field.
std::string_view name_in(const WireField& field) {
  if (field.number != chakra::Node::kAttrFieldNumber || field.type != WireType::kBytes) return "";
  std::string_view name;
  for (std::string_view rest = field.payload; !rest.empty();) {
    const auto part = take_field(rest);
    if (!part) return "";
    if (part->number == chakra::AttributeProto::kNameFieldNumber) name = part->payload;
  }
  return std::ranges::find(kNames, name) == kNames.end() ? "" : name;
}

// True if two nodes are equal but for the values of the attributes in kNames.
bool differ_in_names_alone(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto of_a = take_field(a);
    const auto of_b = take_field(b);
    if (!of_a || !of_b || name_in(*of_a) != name_in(*of_b)) return false;
    if (name_in(*of_a).empty() && *of_a != *of_b) return false;
  }
  return a.empty() && b.empty();
}

bool is_plain_binary(std::string_view bytes) { return !is_gzip(bytes) && !starts_like_json(bytes); }

}  // namespace

std::optional<TraceModel> TraceModel::of(std::string bytes, const RankTrace& trace) {
  if (!trace.graph || !trace.findings.all().empty() || !is_plain_binary(bytes)) return std::nullopt;
  TraceModel model(std::move(bytes));
  model.add_frames(*trace.graph, trace.labels);
  model.blank_.communicators.resize(trace.communicators.size());
  model.blank_.involved = trace.involved;
  model.blank_.descriptions.resize(trace.descriptions.size());
  model.blank_.peers.resize(trace.peers.size());
  model.blank_.tags.resize(trace.graph->transfers().size());
  model.blank_.own_ranks.resize(trace.graph->transfers().size());
  model.blank_.roots.resize(trace.graph->collectives().size());
  model.blank_.process_groups = trace.process_groups;
  model.blank_.world = trace.world;
  return model;
}

void TraceModel::add_frames(const ExecutionGraph& graph, const NodeLabels& labels) {
  std::map<std::tuple<NodeKind, CollectiveKind, std::uint32_t, std::string_view>, std::uint32_t> known;
  for (std::string_view rest = bytes_; !rest.empty();) {
    const std::string_view content = *take_frame(rest);
    const auto size = static_cast<std::uint32_t>(content.size());
    frames_.push_back({static_cast<std::size_t>(content.data() - bytes_.data()), size, size, size, kNone, 0});
    if (frames_.size() == 1 && has_metadata_shape(content)) continue;
    Frame& frame = frames_.back();
    std::uint64_t id = 0;
    for (std::string_view fields = content; !fields.empty();) {
      const auto at = static_cast<std::uint32_t>(size - fields.size());
      const WireField field = *take_field(fields);
      if (field.number == chakra::Node::kIdFieldNumber) id = field.value;
      if (name_in(field).empty()) continue;
      frame.names_begin = std::min(frame.names_begin, at);
      frame.names_end = static_cast<std::uint32_t>(size - fields.size());
    }
    const NodeId node = *find_id(labels, id);
    Use use{frames_.size() - 1, graph.kind(node)};
    if (use.kind == NodeKind::kCollective) {
      use.collective = graph.collective_kind(node);
      use.slot = graph.communicator_slot(node);
      frame.ordinal = graph.collective_index(node);
    } else if (is_transfer(use.kind)) {
      use.slot = graph.peer_slot(node);
      frame.ordinal = graph.transfer_index(node);
    } else {
      continue;
    }
    const auto next = static_cast<std::uint32_t>(uses_.size());
    const auto [entry, is_new] = known.try_emplace({use.kind, use.collective, use.slot, names(frame)}, next);
    frame.use = entry->second;
    if (is_new) uses_.push_back(use);
  }
}

// One trace beside the model.
class TraceModel::Comparison {
 public:
  Comparison(const TraceModel& model, const std::string& file)
      : model_(model), trace_(model.blank_), meanings_(model.uses_.size()) {
    trace_.findings = Findings(file);
  }

  std::optional<RankTrace> run(std::string_view bytes) {
    for (const Frame& frame : model_.frames_) {
      const auto message = take_frame(bytes);
      if (!message || !compare(frame, *message)) return std::nullopt;
    }
    if (!bytes.empty() || !fill_slots()) return std::nullopt;
    trace_.drop_defaults();
    return std::move(trace_);
  }

 private:
  // Meaning of the model's names in this trace.
  struct Meaning {
    std::string_view names;
    TraceNode node;
  };

  bool compare(const Frame& frame, std::string_view message) {
    const std::string_view known = model_.message(frame);
    if (frame.use == kNone) return message == known;
    const std::string_view head = known.substr(0, frame.names_begin);
    const std::string_view tail = known.substr(frame.names_end);
    if (message.size() < head.size() + tail.size() || !message.starts_with(head) || !message.ends_with(tail))
      return false;
    const std::string_view names = message.substr(head.size(), message.size() - head.size() - tail.size());
    std::optional<Meaning>& meaning = meanings_[frame.use];
    if (!meaning || meaning->names != names) {
      meaning = learn(frame, names, message);
      if (!meaning) return false;
    }
    const TraceNode& node = meaning->node;
    if (node.work.kind == NodeKind::kCollective) {
      trace_.roots[frame.ordinal] = node.root;
    } else {
      trace_.tags[frame.ordinal] = node.tag;
      trace_.own_ranks[frame.ordinal] = node.own_rank.value_or(-1);
    }
    return true;
  }

  std::optional<Meaning> learn(const Frame& frame, std::string_view names, std::string_view message) {
    const Use& use = model_.uses_[frame.use];
    if (!differ_in_names_alone(model_.names(frame), names)) return std::nullopt;
    if (!scan_node(message, Scan::kStrict, view_)) return std::nullopt;
    Findings findings(trace_.findings.file());
    Meaning meaning{names, read_trace_node(view_, findings)};
    const TraceNode& node = meaning.node;
    if (!findings.all().empty() || node.work.kind != use.kind || node.work.collective != use.collective)
      return std::nullopt;
    if (is_transfer(use.kind)) return takes(peers_, use.slot, node.peer) ? std::optional(meaning) : std::nullopt;
    if (!takes(communicators_, use.slot, node.communicator)) return std::nullopt;
    if (!node.description.empty() && !takes(descriptions_, use.slot, node.description)) return std::nullopt;
    return meaning;
  }

  // True if all nodes so far call a slot the same.
  template <class Value>
  static bool takes(std::map<std::uint32_t, Value>& slots, std::uint32_t slot, const Value& value) {
    return slots.try_emplace(slot, value).first->second == value;
  }

  // Fills the slots; false if this trace merges what the model tells apart.
  bool fill_slots() {
    std::set<std::pair<std::string_view, std::optional<std::vector<bool>>>> communicators;
    for (const auto& [slot, name] : communicators_)
      if (!communicators.emplace(trace_.communicators[slot] = name, trace_.involved[slot]).second) return false;
    for (const auto& [slot, description] : descriptions_) trace_.descriptions[slot] = description;
    std::set<std::int64_t> peers;
    for (const auto& [slot, peer] : peers_)
      if (!peers.insert(trace_.peers[slot] = peer).second) return false;
    return true;
  }

  const TraceModel& model_;
  RankTrace trace_;
  std::vector<std::optional<Meaning>> meanings_;        // by use
  std::map<std::uint32_t, std::string> communicators_;  // by slot, as descriptions and peers
  std::map<std::uint32_t, std::string> descriptions_;
  std::map<std::uint32_t, std::int64_t> peers_;
  NodeView view_;
};

std::optional<RankTrace> TraceModel::read(const std::string& file, std::string_view bytes) const {
  if (!is_plain_binary(bytes)) return std::nullopt;
  return Comparison(*this, file).run(bytes);
}

std::size_t TraceModel::memory_bytes() const { return bytes_.capacity() + frames_.capacity() * sizeof(Frame); }

std::optional<TraceModels::Alike> TraceModels::read(const std::string& file, std::string_view bytes) {
  std::vector<std::list<Numbered>::iterator> models;
  {
    const std::lock_guard lock(mutex_);
    for (auto model = models_.begin(); model != models_.end(); ++model) models.push_back(model);
  }
  for (const auto model : models) {
    std::optional<RankTrace> trace = model->model.read(file, bytes);
    if (!trace) continue;
    const std::lock_guard lock(mutex_);
    models_.splice(models_.begin(), models_, model);
    return Alike{std::move(*trace), model->number};
  }
  return std::nullopt;
}

void TraceModels::add(std::string bytes, const RankTrace& trace, std::uint32_t number) {
  std::optional<TraceModel> model = TraceModel::of(std::move(bytes), trace);
  if (!model) return;
  const std::lock_guard lock(mutex_);
  models_.push_front({std::move(*model), number});
}

void TraceModels::trim() {
  constexpr std::size_t kMostModels = 64;  // each is tried, though most differ within a few messages
  constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  std::size_t models = 0;
  std::size_t bytes = 0;
  std::erase_if(models_, [&](const Numbered& numbered) {
    bytes += numbered.model.memory_bytes();
    return ++models > kMostModels || bytes > kMostBytes;
  });
}

}  // namespace orrery::workload
