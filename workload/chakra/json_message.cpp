#include "workload/chakra/json_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "workload/chakra/json_value.h"

namespace orrery {
namespace {

constexpr const char* kExpectedNode = "expected {\"id\": ..., \"name\": ..., ...}";

using nlohmann::json;

struct Alias {
  std::string_view key;   // folded
  std::string_view name;  // of the field or the attribute
};

constexpr std::array kNodeFields = {
    Alias{"id", "id"},
    Alias{"name", "name"},
    Alias{"type", "type"},
    Alias{"nodetype", "type"},
    Alias{"ctrldeps", "ctrl_deps"},
    Alias{"datadeps", "data_deps"},
    Alias{"starttimemicros", "start_time_micros"},
    Alias{"durationmicros", "duration_micros"},
    Alias{"runtime", "duration_micros"},
    Alias{"inputs", "inputs"},
    Alias{"outputs", "outputs"},
    Alias{"attr", "attr"},
};

// The attributes that the flat spelling has as keys of the node: every one that Orrery reads.
constexpr std::array kFlatAttributes = {
    Alias{"iscpuop", "is_cpu_op"},          Alias{"numops", "num_ops"},       Alias{"tensorsize", "tensor_size"},
    Alias{"tensorloc", "tensor_loc"},       Alias{"commtype", "comm_type"},   Alias{"commsize", "comm_size"},
    Alias{"commsrc", "comm_src"},           Alias{"commdst", "comm_dst"},     Alias{"commtag", "comm_tag"},
    Alias{"commpriority", "comm_priority"}, Alias{"commgroup", "comm_group"}, Alias{"pgname", "pg_name"},
    Alias{"involveddim", "involved_dim"},   Alias{"stream", "stream"},        Alias{"root", "root"},
    Alias{"rootrank", "root_rank"},         Alias{"srcrank", "src_rank"},     Alias{"optype", "op_type"},
};

std::string_view name_of(std::span<const Alias> aliases, std::string_view folded) {
  const auto found = std::ranges::find(aliases, folded, &Alias::key);
  return found == aliases.end() ? std::string_view() : found->name;
}

[[noreturn]] void fail(const JsonPlace& place, std::string_view key, const json& value, std::string_view expected) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  place.fail(fmt::format("\"{}\" of this node is {}, expected {}", key, printable(text, 60), expected));
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

bool is_integer_text(const json& value) {
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  return text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos;
}

// "COMP_NODE", "comp_node", "coll_comm_node" or a number.
void set_type(const JsonPlace& place, const json& value, chakra::Node& node) {
  if (value.is_string() && !is_integer_text(value)) {
    const std::string name = upper(value.get_ref<const std::string&>());
    chakra::NodeType type = chakra::INVALID_NODE;
    const bool known = chakra::NodeType_Parse(name == "COLL_COMM_NODE" ? "COMM_COLL_NODE" : name, &type);
    if (!known) fail(place, "type", value, "a node type of Chakra 0.0.4, such as COMP_NODE or 4");
    return node.set_type(type);
  }
  set_from_json(place, "\"type\" of this node", value, node, *chakra::Node::descriptor()->FindFieldByName("type"));
}

void set_involved_dim(const JsonPlace& place, const json& value, chakra::AttributeProto& attribute) {
  const auto* list = attribute.mutable_bool_list();
  set_from_json(place, "\"involved_dim\" of this node", value, *attribute.mutable_bool_list(),
                *list->GetDescriptor()->FindFieldByName("values"));
}

// A flat key as the attribute it stands for, in the kind that its JSON type says.
void add_attribute(const JsonPlace& place, std::string_view name, const json& value, chakra::Node& node) {
  chakra::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(std::string(name));
  const bool is_name = name == "pg_name" || name == "op_type";
  if (name == "involved_dim") return set_involved_dim(place, value, attribute);
  if (value.is_boolean()) return attribute.set_bool_val(value.get<bool>());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return attribute.set_uint64_val(value.get<std::uint64_t>());
  if (value.is_number_integer()) return attribute.set_int64_val(value.get<std::int64_t>());
  if (value.is_number_float()) return attribute.set_double_val(value.get<double>());
  if (!is_name && is_integer_text(value))
    return set_from_json(place, fmt::format("\"{}\" of this node", name), value, attribute,
                         *attribute.GetDescriptor()->FindFieldByName("int64_val"));
  if (!value.is_string()) fail(place, name, value, "a number, a string, true or false");
  if (name == "comm_type") {
    chakra::CollectiveCommType type = chakra::ALL_REDUCE;
    if (!chakra::CollectiveCommType_Parse(upper(value.get_ref<const std::string&>()), &type))
      fail(place, name, value, "a collective of Chakra 0.0.4, such as ALL_REDUCE or 0");
    return attribute.set_int64_val(type);
  }
  if (!is_name) fail(place, name, value, "a number, true or false");
  attribute.set_string_val(value.get_ref<const std::string&>());
}

}  // namespace

std::string folded_key(std::string_view key) {
  std::string folded;
  for (const char c : key)
    if (c != '_') folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return folded;
}

bool is_metadata_json(const json& object) {
  const auto items = object.items();
  return std::all_of(items.begin(), items.end(),
                     [](const auto& item) { return item.key() == "version" || item.key() == "attr"; });
}

void metadata_from_json(const JsonPlace& place, const json& object, chakra::GlobalMetadata& metadata) {
  metadata.Clear();
  message_from_json(place, "the metadata", object, metadata);
}

void node_from_json(const JsonPlace& place, const json& object, chakra::Node& node) {
  node.Clear();
  if (!object.is_object()) place.fail("a node is no JSON object", kExpectedNode);
  std::set<std::string_view> given;
  for (const auto& [key, value] : object.items()) {
    const std::string folded = folded_key(key);
    const std::string_view field = name_of(kNodeFields, folded);
    const std::string_view attribute = name_of(kFlatAttributes, folded);
    if ((field.empty() && attribute.empty()) || value.is_null()) continue;
    if (!given.insert(field.empty() ? attribute : field).second)
      place.fail(fmt::format("this node gives {} twice, the second time as \"{}\"", field.empty() ? attribute : field,
                             printable(key)));
    if (field == "type")
      set_type(place, value, node);
    else if ((field == "inputs" || field == "outputs") && !value.is_object())
      continue;  // only protobuf's form has a meaning here
    else if (!field.empty())
      set_from_json(place, fmt::format("\"{}\" of this node", printable(key)), value, node,
                    *chakra::Node::descriptor()->FindFieldByName(std::string(field)));
    else
      add_attribute(place, attribute, value, node);
  }
  if (given.empty()) place.fail("this JSON object gives nothing of a node", kExpectedNode);
}

}  // namespace orrery
