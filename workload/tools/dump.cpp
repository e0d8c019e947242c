// SPDX-License-Identifier: MIT
#include "workload/tools/dump.h"

#include <cmath>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "workload/chakra/attributes.h"
#include "workload/chakra/file.h"
#include "workload/chakra/reader.h"

namespace orrery::workload {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownField;

// Unknown fields need not be UTF-8.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return dump_json(nlohmann::json(value));
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// Builds {...} and [...] from finished pieces.
class Joined {
 public:
  explicit Joined(char open) : text_(1, open) {}
  void add(std::string_view piece) {
    if (text_.size() > 1) text_ += ", ";
    text_ += piece;
  }
  void add(std::string_view key, std::string_view value) { add(fmt::format("{}: {}", json_text(key), value)); }
  std::string closed(char close) && { return std::move(text_) + close; }

 private:
  std::string text_;
};

std::string scalar(const Message& message, const FieldDescriptor& field, int index) {
  return visit_value(message, field, index, [&](const auto& value) -> std::string {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_floating_point_v<Value>)
      return real(static_cast<double>(value));
    else if constexpr (std::is_integral_v<Value>)
      return std::to_string(value);
    else
      return json_text(field.type() == FieldDescriptor::TYPE_BYTES ? hex(value) : value);
  });
}

std::string attribute_value(const chakra::AttributeProto& attribute) {
  const FieldDescriptor* field = value_field(attribute);
  if (field == nullptr) return "null";
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return scalar(attribute, *field, -1);
  const Message& list = attribute.GetReflection()->GetMessage(attribute, field);
  const auto* values = list.GetDescriptor()->field(0);
  Joined items('[');
  for (int i = 0; i < list.GetReflection()->FieldSize(list, values); ++i) items.add(scalar(list, *values, i));
  return std::move(items).closed(']');
}

std::string attribute_kind(const chakra::AttributeProto& attribute) {
  const std::string_view kind = kind_of(attribute);
  return kind.empty() ? "null" : json_text(kind);
}

std::string names_of_known(const google::protobuf::EnumDescriptor& kinds, int value, std::string_view suffix) {
  const auto* named = kinds.FindValueByNumber(value);
  if (named == nullptr) return fmt::format("UNKNOWN_{}", value);
  std::string_view name = named->name();
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return std::string(name);
}

// The types that newer schemas than ours have proposed, as the independent decoder names them.
std::string type_name(int type) {
  if (type == 8) return "STORAGE";
  if (type == 9) return "BATCH";
  if (type == 10) return "CHECKPOINT";
  return names_of_known(*chakra::NodeType_descriptor(), type, "_NODE");
}

template <class Numbers>
std::string list_of(const Numbers& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string io_info(const chakra::IOInfo& info) {
  Joined fields('{');
  if (!info.values().empty()) fields.add("values", json_text(info.values()));
  if (!info.shapes().empty()) fields.add("shapes", json_text(info.shapes()));
  if (!info.types().empty()) fields.add("types", json_text(info.types()));
  const auto& unknown = info.GetReflection()->GetUnknownFields(info);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& field = unknown.field(i);
    if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    fields.add(field.number() == 4 ? "strides" : std::to_string(field.number()), json_text(field.length_delimited()));
  }
  return std::move(fields).closed('}');
}

// "attr", "atype" and, for names given more than once, "dup_attr". The last of equal names is shown.
void add_attributes(const chakra::Node& node, Joined& line) {
  Joined values('{');
  Joined kinds('{');
  Joined repeated('[');
  std::set<std::string_view> names;
  bool any_repeated = false;
  for (const auto& attribute : node.attr()) {
    values.add(attribute.name(), attribute_value(attribute));
    kinds.add(attribute.name(), attribute_kind(attribute));
    if (names.insert(attribute.name()).second) continue;
    repeated.add(json_text(attribute.name()));
    any_repeated = true;
  }
  line.add("attr", std::move(values).closed('}'));
  line.add("atype", std::move(kinds).closed('}'));
  if (any_repeated) line.add("dup_attr", std::move(repeated).closed(']'));
}

// The collective's name, where comm_type is an integer.
void add_collective(const chakra::Node& node, Joined& line) {
  if (node.type() != chakra::COMM_COLL_NODE) return;
  const chakra::AttributeProto* last = nullptr;
  for (const auto& attribute : node.attr())
    if (attribute.name() == "comm_type") last = &attribute;
  if (last == nullptr || last->value_case() == chakra::AttributeProto::kDoubleVal ||
      last->value_case() == chakra::AttributeProto::kFloatVal)
    return;
  if (const auto value = integer_of(*last))
    line.add("coll", json_text(names_of_known(*chakra::CollectiveCommType_descriptor(), static_cast<int>(*value), "")));
}

class Dumper : public ChakraVisitor {
 public:
  Dumper(const std::string& file, std::size_t bytes, std::ostream& out) : file_(file), bytes_(bytes), out_(out) {}

  void metadata(const chakra::GlobalMetadata& metadata) override {
    Joined values('{');
    if (!metadata.version().empty()) values.add("version", json_text(metadata.version()));
    for (const auto& attribute : metadata.attr()) values.add(attribute.name(), attribute_value(attribute));
    print_head(std::move(values).closed('}'), true);
  }

  void node(const chakra::Node& node, ChakraPosition) override {
    if (!head_printed_) print_head("{}", false);
    Joined line('{');
    line.add("id", std::to_string(node.id()));
    line.add("name", json_text(node.name()));
    line.add("type", json_text(type_name(node.type())));
    line.add("ctrl_deps", list_of(node.ctrl_deps()));
    line.add("data_deps", list_of(node.data_deps()));
    line.add("start_us", std::to_string(node.start_time_micros()));
    line.add("dur_us", std::to_string(node.duration_micros()));
    add_attributes(node, line);
    if (node.has_inputs()) line.add("inputs", io_info(node.inputs()));
    if (node.has_outputs()) line.add("outputs", io_info(node.outputs()));
    add_unknown(node, line);
    add_collective(node, line);
    out_ << std::move(line).closed('}') << '\n';
  }

 private:
  void print_head(std::string_view metadata, bool has_metadata) {
    head_printed_ = true;
    Joined line('{');
    line.add("file", json_text(file_));
    line.add("schema", json_text("0.0.4"));
    line.add("metadata", metadata);
    line.add("has_metadata", has_metadata ? "true" : "false");
    line.add("bytes", std::to_string(bytes_));
    line.add("framing_error", "null");
    line.add("bad_messages", "0");
    out_ << std::move(line).closed('}') << '\n';
  }

  static void add_unknown(const chakra::Node& node, Joined& line) {
    const auto& unknown = node.GetReflection()->GetUnknownFields(node);
    if (unknown.empty()) return;
    Joined numbers('[');
    for (int i = 0; i < unknown.field_count(); ++i) numbers.add(std::to_string(unknown.field(i).number()));
    line.add("unknown_fields", std::move(numbers).closed(']'));
  }

  std::string file_;
  std::size_t bytes_;
  std::ostream& out_;
  bool head_printed_ = false;
};

}  // namespace

void dump_chakra(const std::string& file, std::string_view bytes, std::ostream& out) {
  const std::string unpacked = is_gzip(bytes) ? inflate_gzip(file, bytes) : std::string();
  const std::string_view content = is_gzip(bytes) ? std::string_view(unpacked) : bytes;
  Dumper dumper(file, content.size(), out);
  read_chakra(file, content, dumper);
}

}  // namespace orrery::workload
