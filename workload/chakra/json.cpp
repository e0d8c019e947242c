// SPDX-License-Identifier: MIT
// The JSON forms of a Chakra trace:
//
//   (a) protobuf's JSON of GlobalMetadata and of each node, one object after another with nothing between them, as
//       chakra_jsonizer writes it;
//
//   (b) the v1 feeder's {"workload_graph": [{"Id", "Name", "NodeType", "data_deps", "runtime", ...}], ...};
//
//   (c) the symbolic tensor graph's {"nodes": [{"id", "name", "node_type": "comp_node", "num_ops", ...}]}, or the list
//       alone.
//
// Keys are matched without regard to case and underscores, 64-bit integers may be strings, enums names or numbers;
// unknown keys are ignored. Each node becomes the same chakra::Node the binary form would give.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>

#include "core/error.h"
#include "core/files/json.h"
#include "workload/chakra/json_text.h"
#include "workload/chakra/reader.h"

namespace orrery::workload {
namespace {

constexpr const char* kExpectedNode = "expected {\"id\": ..., \"name\": ..., ...}";

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::json;
using Event = JsonText::Event;

// InputError without a place: that of the node.
[[noreturn]] void fail(const std::string& path, const json& value, std::string_view expected) {
  const std::string text = dump_json(value);
  throw InputError({}, fmt::format("{} is {}, expected {}", path, printable(text, 60), expected));
}

std::string path_of(std::string_view key) { return fmt::format("\"{}\" of this node", printable(key)); }

template <class T>
std::optional<T> parsed_number(std::string_view text) {
  T result = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return result;
}

// An integral value of any JSON spelling that T holds; nothing otherwise.
template <class T>
std::optional<T> integer_in(const json& value) {
  const auto in_range = [](auto number) {
    return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
  };
  if (value.is_number_unsigned()) return in_range(value.get<std::uint64_t>());
  if (value.is_number_integer()) return in_range(value.get<std::int64_t>());
  if (value.is_string()) return parsed_number<T>(value.get_ref<const std::string&>());
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  const bool fits = number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    number < std::ldexp(1.0, std::numeric_limits<T>::digits);
  return fits && number == std::floor(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
}

template <class T>
T integer(const std::string& path, const json& value) {
  if (const auto number = integer_in<T>(value)) return *number;
  fail(path, value,
       fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

double real(const std::string& path, const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (const auto number = parsed_number<double>(text); number && std::isfinite(*number)) return *number;
  }
  fail(path, value, "a number");
}

float single(const std::string& path, const json& value) {
  const double number = real(path, value);
  // Half an ulp above the largest float still rounds to it.
  if (std::isfinite(number) && !std::isfinite(static_cast<float>(std::clamp(number, -0x1.ffffffp127, 0x1.ffffffp127))))
    fail(path, value, "a number that a 32-bit float can hold");
  return static_cast<float>(number);
}

bool boolean(const std::string& path, const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  const auto number = value.is_string() ? std::nullopt : integer_in<std::int64_t>(value);
  if (number && (*number == 0 || *number == 1)) return *number == 1;
  fail(path, value, "true or false");
}

const std::string& text_of(const std::string& path, const json& value) {
  if (!value.is_string()) fail(path, value, "a string");
  return value.get_ref<const std::string&>();
}

std::string base64(const std::string& path, const json& value) {
  google::protobuf::BytesValue bytes;
  text_of(path, value);
  if (!google::protobuf::util::JsonStringToMessage(dump_json(value), &bytes).ok()) fail(path, value, "base64");
  return bytes.value();
}

int enum_number(const std::string& path, const json& value, const FieldDescriptor& field) {
  if (!value.is_string()) return integer<std::int32_t>(path, value);
  const auto* named = field.enum_type()->FindValueByName(value.get_ref<const std::string&>());
  if (named != nullptr) return named->number();
  if (const auto number = integer_in<std::int32_t>(value)) return *number;
  fail(path, value, "a value of " + field.enum_type()->name());
}

void message_from_json(const std::string& path, const json& object, Message& message);

// Sets a singular field, or appends one element to a repeated one.
void set_one(const std::string& path, const json& value, Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const auto put = [&](auto set, auto add, auto converted) {
    if (field.is_repeated())
      (reflection.*add)(&message, &field, std::move(converted));
    else
      (reflection.*set)(&message, &field, std::move(converted));
  };
  using R = Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&R::SetInt32, &R::AddInt32, integer<std::int32_t>(path, value));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&R::SetInt64, &R::AddInt64, integer<std::int64_t>(path, value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&R::SetUInt32, &R::AddUInt32, integer<std::uint32_t>(path, value));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&R::SetUInt64, &R::AddUInt64, integer<std::uint64_t>(path, value));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&R::SetDouble, &R::AddDouble, real(path, value));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&R::SetFloat, &R::AddFloat, single(path, value));
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&R::SetBool, &R::AddBool, boolean(path, value));
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(&R::SetEnumValue, &R::AddEnumValue, enum_number(path, value, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return put(&R::SetString, &R::AddString,
                 field.type() == FieldDescriptor::TYPE_BYTES ? base64(path, value) : text_of(path, value));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return message_from_json(path, value,
                               field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                                   : *reflection.MutableMessage(&message, &field));
  }
}

// null leaves the field alone. `path` names the value in errors.
void set_from_json(const std::string& path, const json& value, Message& message, const FieldDescriptor& field) {
  if (value.is_null()) return;
  if (!field.is_repeated()) return set_one(path, value, message, field);
  if (!value.is_array()) fail(path, value, "an array");
  for (std::size_t i = 0; i < value.size(); ++i) set_one(fmt::format("{}[{}]", path, i), value[i], message, field);
}

// Keys in snake_case or camelCase; others are ignored.
void message_from_json(const std::string& path, const json& object, Message& message) {
  if (!object.is_object()) fail(path, object, "an object");
  const auto* descriptor = message.GetDescriptor();
  for (const auto& [key, value] : object.items()) {
    const auto* field = descriptor->FindFieldByName(key);
    if (field == nullptr) field = descriptor->FindFieldByCamelcaseName(key);
    if (field == nullptr || value.is_null()) continue;
    const auto* oneof = field->containing_oneof();
    if (oneof != nullptr && message.GetReflection()->HasOneof(message, oneof))
      throw InputError({}, fmt::format("{} has two values, expected one", path));
    set_from_json(path + "." + key, value, message, *field);
  }
}

// A key without underscores and in lower case: how keys are compared.
std::string folded_key(std::string_view key) {
  std::string folded;
  for (const char c : key)
    if (c != '_') folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return folded;
}

// Meaning of a node's key: one of its fields, or an attribute.
struct Meaning {
  std::string name;
  const FieldDescriptor* field = nullptr;  // null: an attribute
};

// Meanings by folded key.
std::map<std::string, Meaning, std::less<>> all_meanings() {
  std::map<std::string, Meaning, std::less<>> meanings;
  const auto& node = *chakra::Node::descriptor();
  for (int i = 0; i < node.field_count(); ++i)
    meanings[folded_key(node.field(i)->name())] = {node.field(i)->name(), node.field(i)};
  meanings["nodetype"] = meanings.at("type");
  meanings["runtime"] = meanings.at("durationmicros");
  // Attributes that the flat spelling has as keys of the node: every one that Orrery reads.
  for (const char* name : {"is_cpu_op", "num_ops", "tensor_size", "tensor_loc", "comm_type", "comm_size", "comm_src",
                           "comm_dst", "comm_tag", "comm_priority", "comm_group", "pg_name", "involved_dim", "stream",
                           "root", "root_rank", "src_rank", "op_type"})
    meanings[folded_key(name)] = {name, nullptr};
  return meanings;
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
void set_type(const json& value, const FieldDescriptor& field, chakra::Node& node) {
  if (!value.is_string() || is_integer_text(value)) return set_from_json(path_of("type"), value, node, field);
  const std::string name = upper(value.get_ref<const std::string&>());
  chakra::NodeType type = chakra::INVALID_NODE;
  if (!chakra::NodeType_Parse(name == "COLL_COMM_NODE" ? "COMM_COLL_NODE" : name, &type))
    fail(path_of("type"), value, "a node type of Chakra 0.0.4, such as COMP_NODE or 4");
  node.set_type(type);
}

// A flat key as the attribute it stands for, in the kind that its JSON type says.
void add_attribute(const std::string& name, const json& value, chakra::Node& node) {
  chakra::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(name);
  const bool is_name = name == "pg_name" || name == "op_type";
  if (name == "involved_dim") {
    auto& list = *attribute.mutable_bool_list();
    return set_from_json(path_of(name), value, list, *list.GetDescriptor()->field(0));
  }
  if (value.is_boolean()) return attribute.set_bool_val(value.get<bool>());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return attribute.set_uint64_val(value.get<std::uint64_t>());
  if (value.is_number_integer()) return attribute.set_int64_val(value.get<std::int64_t>());
  if (value.is_number_float()) return attribute.set_double_val(value.get<double>());
  if (!is_name && is_integer_text(value)) return attribute.set_int64_val(integer<std::int64_t>(path_of(name), value));
  if (!value.is_string()) fail(path_of(name), value, "a number, a string, true or false");
  if (name == "comm_type") {
    chakra::CollectiveCommType type = chakra::ALL_REDUCE;
    if (!chakra::CollectiveCommType_Parse(upper(value.get_ref<const std::string&>()), &type))
      fail(path_of(name), value, "a collective of Chakra 0.0.4, such as ALL_REDUCE or 0");
    return attribute.set_int64_val(type);
  }
  if (!is_name) fail(path_of(name), value, "a number, true or false");
  attribute.set_string_val(value.get_ref<const std::string&>());
}

// True if an object has only keys of GlobalMetadata. It may be empty.
bool is_metadata_json(const json& object) {
  const auto items = object.items();
  return std::all_of(items.begin(), items.end(),
                     [](const auto& item) { return item.key() == "version" || item.key() == "attr"; });
}

void metadata_from_json(const json& object, chakra::GlobalMetadata& metadata) {
  metadata.Clear();
  message_from_json("the metadata", object, metadata);
}

void node_from_json(const json& object, chakra::Node& node) {
  static const auto meanings = all_meanings();
  node.Clear();
  std::set<std::string_view> given;
  for (const auto& [key, value] : object.items()) {
    const auto meaning = meanings.find(folded_key(key));
    if (meaning == meanings.end() || value.is_null()) continue;
    const auto& [name, field] = meaning->second;
    if (!given.insert(name).second)
      throw InputError({}, fmt::format("this node gives {} twice, the second time as \"{}\"", name, printable(key)));
    if (field == nullptr)
      add_attribute(name, value, node);
    else if (name == "type")
      set_type(value, *field, node);
    else if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated() || value.is_object())
      set_from_json(path_of(key), value, node, *field);  // inputs and outputs have a meaning in protobuf's form only
  }
  if (given.empty()) throw InputError({}, "this JSON object gives nothing of a node", kExpectedNode);
}

constexpr int kMostLevels = 64;  // a node needs four

bool is_list_key(std::string_view folded) { return folded == "workloadgraph" || folded == "nodes"; }

void check_depth(int depth, Event event, JsonText& text) {
  if (depth >= kMostLevels && (event == Event::object_start || event == Event::array_start))
    text.fail(text.offset() - 1, fmt::format("JSON nested deeper than {} levels", kMostLevels));
}

[[noreturn]] void refuse_chrome_trace(JsonText& text) {
  text.fail(text.start_of(text.token(true)),
            "this is a Chrome or Kineto trace (\"traceEvents\"), expected a Chakra trace",
            "make Chakra traces of it: `orrery workload import PROFILE... -o DIR`; or link it with its PyTorch "
            "execution trace (chakra_trace_link) and convert that (chakra_converter PyTorch)");
}

// PyTorch's ExecutionTraceObserver writes its schema beside the "nodes"; no form of Chakra has that. Its nodes say
// what the host called, neither of what type they are nor how long the device took.
[[noreturn]] void refuse_host_trace(const std::string& file, std::string_view schema) {
  throw InputError({file},
                   fmt::format("this is a PyTorch execution trace (schema \"{}\") of the host's operators, without the "
                               "times of the device; expected a Chakra trace",
                               printable(schema, 60)),
                   "import the Kineto profile of the same step: `orrery workload import PROFILE... -o DIR`; or link "
                   "the two (chakra_trace_link) and convert that (chakra_converter PyTorch)");
}

class JsonReader {
 public:
  JsonReader(const std::string& file, std::string_view text, ChakraVisitor& visitor)
      : file_(file), text_(file, text), visitor_(visitor) {}

  void run() {
    is_list_key_ = text_.peek() == '[';
    node_depth_ = is_list_key_ ? 1 : depth_of_nodes();
    do {
      const char first = text_.peek();
      if (first != '{' && node_depth_ != 1)
        text_.fail(text_.offset(), fmt::format("found '{}', expected '{{'", printable({&first, 1})));
      text_.parse([this](int depth, Event event, json& value) { return read(depth, event, value); });
    } while (node_depth_ == 0 && !text_.at_end());
    if (!text_.at_end()) text_.fail(text_.offset(), "there is more after the end of the trace");
    if (position_.frame == 0 || nodes_ == 0) text_.fail(text_.offset(), "there is no node in this trace");
  }

 private:
  // Number of brackets around the nodes: none if the first object is metadata or a node, two if one of its keys holds
  // the list. What the file is may be said behind the list, so this looks ahead.
  int depth_of_nodes() const {
    JsonText ahead = text_;
    std::string key, list, schema;
    ahead.parse([&](int depth, Event event, json& value) {
      check_depth(depth, event, ahead);
      if (depth == 0 && event == Event::object_end) ahead.stop();
      if (depth != 1) return depth == 0;
      if (event == Event::key) {
        key = folded_key(value.get_ref<const std::string&>());
        if (key == "traceevents") refuse_chrome_trace(ahead);
      } else if (event == Event::array_start && is_list_key(key)) {
        if (!list.empty()) ahead.fail(ahead.offset() - 1, "a second list of nodes");
        list = key;
      } else if (event == Event::value && key == "schema" && value.is_string()) {
        schema = value.get<std::string>();
      }
      return false;
    });
    if (list == "nodes" && !schema.empty()) refuse_host_trace(file_, schema);
    return list.empty() ? 0 : 2;
  }

  // Builds one node at a time: nothing else is kept.
  bool read(int depth, Event event, json& value) {
    check_depth(depth, event, text_);
    if (depth == 0 && (event == Event::object_end || event == Event::array_end)) text_.stop();
    if (depth < node_depth_) return read_around(depth, event, value);
    if (node_depth_ > 0 && !in_list_) return false;
    if (depth > node_depth_) return refuse_repeated_key(depth, event, value);
    if (event == Event::object_end) {
      read_object(value);
      return false;
    }
    node_start_ = text_.offset() - 1;
    if (event != Event::object_start)
      text_.fail(event == Event::value ? text_.start_of(text_.token(value.is_string())) : node_start_,
                 "a node is not a JSON object", kExpectedNode);
    keys_.assign(1, {});
    return true;
  }

  bool read_around(int depth, Event event, const json& value) {
    if (event == Event::key) {
      is_list_key_ = is_list_key(folded_key(value.get_ref<const std::string&>()));
      in_list_ = false;
    }
    if (event == Event::array_start) in_list_ = is_list_key_;
    return depth == 0 || (event == Event::key ? is_list_key_ : in_list_);
  }

  // nlohmann keeps the last of equal keys silently.
  bool refuse_repeated_key(int depth, Event event, const json& value) {
    const auto level = static_cast<std::size_t>(depth - node_depth_);
    if (event == Event::object_start) {
      keys_.resize(std::max(keys_.size(), level + 1));
      keys_[level].clear();
    }
    if (event == Event::key && !keys_[level - 1].insert(value.get_ref<const std::string&>()).second)
      text_.fail(text_.start_of(text_.token(true)),
                 fmt::format("the key \"{}\" is given twice", printable(value.get_ref<const std::string&>())));
    return true;
  }

  void read_object(const json& object) {
    const bool is_metadata = node_depth_ == 0 && position_.frame == 0 && is_metadata_json(object);
    try {
      is_metadata ? metadata_from_json(object, metadata_) : node_from_json(object, node_);
    } catch (const InputError& error) {
      text_.fail(node_start_, error.problems()[0].message, error.problems()[0].hint);
    }
    position_.offset = node_start_;
    if (is_metadata)
      visitor_.metadata(metadata_);
    else
      visitor_.node(node_, position_);
    ++position_.frame;
    if (!is_metadata) ++nodes_;
  }

  const std::string& file_;
  JsonText text_;
  ChakraVisitor& visitor_;
  int node_depth_ = 0;
  bool is_list_key_ = false;  // the key just read, or the text itself, is that of the nodes
  bool in_list_ = false;      // of the nodes
  std::size_t node_start_ = 0;
  std::vector<std::set<std::string, std::less<>>> keys_;  // of each open object of the node
  ChakraPosition position_;
  std::uint64_t nodes_ = 0;
  chakra::GlobalMetadata metadata_;
  chakra::Node node_;
};

}  // namespace

void read_chakra_json(const std::string& file, std::string_view text, ChakraVisitor& visitor) {
  JsonReader(file, text, visitor).run();
}

}  // namespace orrery::workload
