// SPDX-License-Identifier: MIT
#include "workload/import/kineto/execution_trace.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "workload/import/kineto/messages.h"

namespace orrery::workload {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kCall = "record_param_comms";
constexpr std::string_view kGroups = "## process_group:init ##";

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json* value) {
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : value->is_number() ? value->dump() : std::string();
}

std::optional<std::int64_t> integer_of(const Json* value) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return value->get<std::int64_t>();
}

// The inputs or outputs of a node in either schema.
const Json* list_of(const Json& node, const char* key, const char* old_key, const char* part) {
  const Json* const list = member(node, key);
  if (list != nullptr && list->is_object()) return member(*list, part);
  return member(node, old_key);
}

const Json* attribute(const Json& node, const char* name) {
  const Json* const attributes = member(node, "attrs");
  if (attributes == nullptr || !attributes->is_array()) return member(node, name);
  for (const Json& one : *attributes)
    if (text_of(member(one, "name")) == name) return member(one, "value");
  return nullptr;
}

// [tensor, storage, offset, elements, bytes of an element, device], or a list of such.
std::int64_t elements_of(const Json& value) {
  if (!value.is_array()) return -1;
  if (value.size() == 6 && value[3].is_number_integer() && value[5].is_string())
    return std::clamp<std::int64_t>(integer_of(&value[3]).value_or(-1), -1, kMostElements);
  std::int64_t sum = -1;
  for (const Json& part : value)
    if (const std::int64_t elements = elements_of(part); elements >= 0)
      sum = std::min(std::max<std::int64_t>(sum, 0) + elements, kMostElements);
  return sum;
}

// "float" of "GenericList[Tensor(float),Tensor(float)]".
std::string type_of(const std::string& text) {
  constexpr std::string_view kTensor = "Tensor(";
  const std::size_t at = text.find(kTensor);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kTensor.size();
  return text.substr(begin, text.find(')', begin) - begin);
}

// "[0, 1]"; empty where it is no list of numbers.
std::string ranks_text(const Json* ranks) {
  if (ranks == nullptr || !ranks->is_array() || ranks->empty()) return {};
  std::string text;
  for (const Json& rank : *ranks) text += (text.empty() ? "[" : ", ") + text_of(&rank);
  return text + "]";
}

void read_groups(const Json& node, ExecutionTrace& trace) {
  const Json* const inputs = list_of(node, "inputs", "inputs", "values");
  if (inputs == nullptr || !inputs->is_array() || inputs->empty() || !inputs->front().is_string()) return;
  const std::optional<Json> groups = json_of<Json>(inputs->front().get_ref<const std::string&>());
  if (!groups || !groups->is_array()) return;
  for (const Json& group : *groups) {
    const std::string name = text_of(member(group, "pg_name"));
    if (const std::string ranks = ranks_text(member(group, "ranks")); !ranks.empty()) trace.group_ranks[name] = ranks;
    if (text_of(member(group, "pg_desc")) == "default_pg") trace.world = integer_of(member(group, "group_size"));
  }
}

// Groups that are only numbers are addresses, which differ from rank to rank: they are counted as they come.
class GroupNumbers {
 public:
  void note(const Json& inputs, std::size_t name, KinetoMessage& message) {
    const std::string address = text_of(&inputs[name - 2]);
    if (address.empty() || address == "0") return;
    const auto [number, is_new] = numbers_.try_emplace(address, numbers_.size());
    if (number->second > 0) message.group = fmt::format("pg{}", number->second);
    for (std::size_t i = name + 1; i < std::min(name + 3, inputs.size()); ++i)  // a split for each rank
      if (inputs[i].is_array() && !inputs[i].empty())
        sizes_[message.group] = static_cast<std::int64_t>(inputs[i].size());
  }
  void complete(std::vector<ExecutionTraceCall>& calls) const {
    for (ExecutionTraceCall& call : calls)
      if (const auto size = sizes_.find(call.message.group); size != sizes_.end() && call.message.group_size < 0)
        call.message.group_size = size->second;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::map<std::string, std::int64_t> sizes_;
};

// Reads the inputs around the name of a call.
void read_inputs(const Json& inputs, std::size_t name, ExecutionTraceCall& call) {
  KinetoMessage& message = call.message;
  message.collective = inputs[name].get<std::string>();
  call.rank = integer_of(&inputs[name - 1]).value_or(-1);
  const Json& group = inputs[name - 2];
  if (group.is_array() && group.size() == 2) {
    message.group = text_of(&group[0]);
    message.description = text_of(&group[1]);
  }
  if (name > 3) message.input_elements = elements_of(inputs[0]);
  const auto number = [&](std::size_t i) { return i < inputs.size() ? integer_of(&inputs[i]).value_or(-1) : -1; };
  message.first_rank = number(name + 3);
  message.rank_stride = number(name + 4);
  message.group_size = number(name + 5);
  if (message.group_size <= 0) message.group_size = -1;
}

// Reads the attributes in which later schemas note the same in words.
void read_attributes(const Json& node, KinetoMessage& message) {
  const auto take_text = [&](const char* name, std::string& to) {
    if (const std::string text = text_of(attribute(node, name)); !text.empty()) to = text;
  };
  const auto take_number = [&](const char* name, std::int64_t& to) {
    if (const auto number = integer_of(attribute(node, name)); number && *number >= 0) to = *number;
  };
  take_text("collective_name", message.collective);
  take_text("dtype", message.type);
  take_text("pg_name", message.group);
  take_text("pg_desc", message.description);
  take_number("in_msg_nelems", message.input_elements);
  take_number("out_msg_nelems", message.output_elements);
  take_number("pg_size", message.group_size);
  take_number("global_rank_start", message.first_rank);
  take_number("global_rank_stride", message.rank_stride);
}

void read_call(const Json& node, GroupNumbers& groups, ExecutionTrace& trace) {
  const Json* const inputs = list_of(node, "inputs", "inputs", "values");
  if (inputs == nullptr || !inputs->is_array()) return;
  const auto name = std::ranges::find_if(*inputs, [](const Json& input) { return input.is_string(); });
  if (name == inputs->end() || name - inputs->begin() < 3) return;
  ExecutionTraceCall call;
  call.node = static_cast<std::uint64_t>(integer_of(member(node, "id")).value_or(0));
  call.record_function = integer_of(attribute(node, "rf_id")).value_or(0);
  const auto position = static_cast<std::size_t>(name - inputs->begin());
  read_inputs(*inputs, position, call);
  groups.note(*inputs, position, call.message);
  const Json* const types = list_of(node, "inputs", "input_types", "types");
  if (types != nullptr && types->is_array() && !types->empty()) call.message.type = type_of(text_of(&types->front()));
  const Json* const outputs = list_of(node, "outputs", "outputs", "values");
  if (outputs != nullptr && outputs->is_array() && !outputs->empty())
    call.message.output_elements = elements_of(outputs->front());
  const bool is_wait = call.message.collective == "wait";
  read_attributes(node, call.message);
  if (is_wait) call.message.collective = "wait";
  trace.calls.push_back(std::move(call));
}

}  // namespace

std::optional<std::int64_t> ExecutionTrace::rank() const {
  for (const ExecutionTraceCall& call : calls) {
    const bool is_world = call.message.description == "default_pg" || (world && call.message.group_size == *world);
    // A collective with a root notes that in place of the rank.
    const auto kind = operation_kind(call.message.collective);
    if (call.rank >= 0 && is_world && kind && kind->type == KinetoOperationKind::Type::kCollective &&
        kind->collective != CollectiveKind::kBroadcast && kind->collective != CollectiveKind::kReduce)
      return call.rank;
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t kHead = 4096;

// Text behind a key at the beginning of a file; empty if the key is not there.
std::string_view behind_key(std::string_view text, std::string_view key) {
  const std::string_view head = text.substr(0, kHead);
  std::size_t at = head.find(key);
  if (at != std::string_view::npos) at = head.find_first_not_of(" :\t\r\n", at + key.size());
  return at == std::string_view::npos ? std::string_view() : head.substr(at);
}

// True for an execution trace of any schema.
bool has_nodes_of_trace(std::string_view text) {
  return behind_key(text, "\"nodes\"").starts_with("[") &&
         text.substr(0, kHead).find("\"traceEvents\"") == std::string_view::npos;
}

}  // namespace

bool is_execution_trace(std::string_view text) {
  return has_nodes_of_trace(text) && behind_key(text, "\"schema\"").starts_with("\"1.");
}

void refuse_unknown_schema(const std::string& file, std::string_view text) {
  std::string_view schema = behind_key(text, "\"schema\"");
  if (!has_nodes_of_trace(text) || schema.empty() || is_execution_trace(text)) return;
  schema = schema.substr(0, schema.find_first_of(",}\r\n"));
  throw InputError({file}, fmt::format("is a PyTorch execution trace of the unknown schema {}", printable(schema, 40)),
                   "schemas 1.0.x and 1.1.x are known, as PyTorch writes them since 2.0");
}

ExecutionTrace read_execution_trace(const std::string& file, std::string_view text) {
  ExecutionTrace trace;
  bool has_nodes = false;
  std::size_t nodes = 0;
  GroupNumbers groups;
  // Nodes are looked at one by one, and dropped: files are large, and few nodes communicate.
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) has_nodes = has_nodes || value == "nodes";
    if (depth != 2 || event != Json::parse_event_t::object_end) return true;
    ++nodes;
    const std::string name = text_of(member(value, "name"));
    if (name == kCall) read_call(value, groups, trace);
    if (name == kGroups) read_groups(value, trace);
    return false;
  };
  Json root;
  try {
    root = parse_json<Json>(text, look);
  } catch (const JsonError& error) {
    throw not_json(file, text, error.offset() + 1, error.reason());
  }
  if (!has_nodes || !root.is_object())
    throw InputError({file}, "no nodes", "expected a PyTorch execution trace: {\"schema\": ..., \"nodes\": [...]}");
  if (nodes == 0)
    throw InputError({file}, "\"nodes\" has no node", "expected a list of objects: \"nodes\": [{\"id\": ..., ...}]");
  trace.schema = text_of(member(root, "schema"));
  trace.process = integer_of(member(root, "pid"));
  groups.complete(trace.calls);
  std::ranges::stable_sort(trace.calls, {}, &ExecutionTraceCall::node);
  return trace;
}

}  // namespace orrery::workload
