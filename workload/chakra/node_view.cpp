// SPDX-License-Identifier: MIT
#include "workload/chakra/node_view.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/assert.h"
#include "core/utf8.h"
#include "workload/chakra/wire.h"

namespace orrery::workload {
namespace {

using chakra::AttributeProto;
using chakra::Node;
using ProtoField = google::protobuf::FieldDescriptor;

// Type of one element of a value, by its field; of a list that of the field before it (chakra.proto).
ProtoField::Type element_type(std::uint32_t field) {
  switch (field % 2 == 0 ? field - 1 : field) {
    case AttributeProto::kDoubleValFieldNumber:
      return ProtoField::TYPE_DOUBLE;
    case AttributeProto::kFloatValFieldNumber:
      return ProtoField::TYPE_FLOAT;
    case AttributeProto::kInt32ValFieldNumber:
      return ProtoField::TYPE_INT32;
    case AttributeProto::kInt64ValFieldNumber:
      return ProtoField::TYPE_INT64;
    case AttributeProto::kUint32ValFieldNumber:
      return ProtoField::TYPE_UINT32;
    case AttributeProto::kUint64ValFieldNumber:
      return ProtoField::TYPE_UINT64;
    case AttributeProto::kSint32ValFieldNumber:
      return ProtoField::TYPE_SINT32;
    case AttributeProto::kSint64ValFieldNumber:
      return ProtoField::TYPE_SINT64;
    case AttributeProto::kFixed32ValFieldNumber:
      return ProtoField::TYPE_FIXED32;
    case AttributeProto::kFixed64ValFieldNumber:
      return ProtoField::TYPE_FIXED64;
    case AttributeProto::kSfixed32ValFieldNumber:
      return ProtoField::TYPE_SFIXED32;
    case AttributeProto::kSfixed64ValFieldNumber:
      return ProtoField::TYPE_SFIXED64;
    case AttributeProto::kBoolValFieldNumber:
      return ProtoField::TYPE_BOOL;
    case AttributeProto::kStringValFieldNumber:
      return ProtoField::TYPE_STRING;
    default:
      return ProtoField::TYPE_BYTES;
  }
}

WireType wire_type_of(ProtoField::Type type) {
  switch (type) {
    case ProtoField::TYPE_DOUBLE:
    case ProtoField::TYPE_FIXED64:
    case ProtoField::TYPE_SFIXED64:
      return WireType::kFixed64;
    case ProtoField::TYPE_FLOAT:
    case ProtoField::TYPE_FIXED32:
    case ProtoField::TYPE_SFIXED32:
      return WireType::kFixed32;
    case ProtoField::TYPE_STRING:
    case ProtoField::TYPE_BYTES:
      return WireType::kBytes;
    default:
      return WireType::kVarint;
  }
}

bool is_value(std::uint32_t field) {
  return field >= AttributeProto::kDoubleValFieldNumber && field <= AttributeProto::kBytesListFieldNumber;
}

// Fixed bits in the order of the wire, least significant byte first.
std::uint64_t bits_of(std::string_view payload) {
  std::uint64_t bits = 0;
  for (std::size_t i = payload.size(); i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(payload[i]);
  return bits;
}

// The signed 64-bit value of a number, if it has one. As a double, -2^63 is the smallest, 2^63 is too large.
template <class Value>
std::optional<std::int64_t> as_int64(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    const bool fits = value >= -0x1p63 && value < 0x1p63 && value == std::floor(value);
    return fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  } else {
    return std::in_range<std::int64_t>(value) ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
}

// Calls `act` with the number of this type that these bits are.
template <class Act>
auto visit_number(ProtoField::Type type, std::uint64_t bits, const Act& act) -> decltype(act(double{})) {
  const auto unzigzag = static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
  switch (type) {
    case ProtoField::TYPE_DOUBLE:
      return act(std::bit_cast<double>(bits));
    case ProtoField::TYPE_FLOAT:
      return act(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    case ProtoField::TYPE_INT32:
    case ProtoField::TYPE_INT64:
    case ProtoField::TYPE_SFIXED64:
    case ProtoField::TYPE_BOOL:
      return act(static_cast<std::int64_t>(bits));
    case ProtoField::TYPE_SFIXED32:
      return act(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))});
    case ProtoField::TYPE_SINT32:
    case ProtoField::TYPE_SINT64:
      return act(unzigzag);
    case ProtoField::TYPE_UINT32:
    case ProtoField::TYPE_UINT64:
    case ProtoField::TYPE_FIXED32:
    case ProtoField::TYPE_FIXED64:
      return act(bits);
    default:
      return std::nullopt;
  }
}

class Scanner {
 public:
  Scanner(Scan scan, NodeView& node) : is_trusted_(scan == Scan::kTrusted), node_(node) {}

  bool scan(std::string_view message) {
    // Without an id it may be metadata, or nothing at all.
    if (!is_trusted_ && (message.empty() || message.front() != '\x08')) return false;
    while (!message.empty()) {
      const auto field = take_field(message);
      if (!field || !take(*field)) return false;
    }
    return true;
  }

 private:
  bool take(const WireField& field) {
    switch (field.number) {
      case Node::kIdFieldNumber:
        return take_number(field, node_.id);
      case Node::kNameFieldNumber:
        return take_text(field, node_.name);
      case Node::kTypeFieldNumber:
        return take_type(field);
      case Node::kCtrlDepsFieldNumber:
        return take_numbers(field, node_.ctrl_deps);
      case Node::kDataDepsFieldNumber:
        return take_numbers(field, node_.data_deps);
      case Node::kStartTimeMicrosFieldNumber:
        return field.type == WireType::kVarint;
      case Node::kDurationMicrosFieldNumber:
        return take_number(field, node_.duration_micros);
      case Node::kInputsFieldNumber:
        return !std::exchange(has_inputs_, true) && take_values(field, &node_.input_values);
      case Node::kOutputsFieldNumber:
        return !std::exchange(has_outputs_, true) && take_values(field, nullptr);
      case Node::kAttrFieldNumber:
        return field.type == WireType::kBytes && take_attribute(field.payload, node_.attributes.emplace_back());
      default:
        return true;
    }
  }

  static bool take_number(const WireField& field, std::uint64_t& number) {
    number = field.value;
    return field.type == WireType::kVarint;
  }

  bool take_text(const WireField& field, std::string_view& text) const {
    text = field.payload;
    return field.type == WireType::kBytes && (is_trusted_ || is_utf8(text));
  }

  bool take_type(const WireField& field) {
    const auto type = static_cast<std::int64_t>(field.value);
    node_.type = static_cast<std::int32_t>(type);
    return field.type == WireType::kVarint && node_.type == type;
  }

  static bool take_numbers(const WireField& field, std::vector<std::uint64_t>& numbers) {
    if (field.type == WireType::kVarint) numbers.push_back(field.value);
    if (field.type != WireType::kBytes) return field.type == WireType::kVarint;
    for (std::string_view rest = field.payload; !rest.empty();) {
      const auto number = take_varint(rest);
      if (!number) return false;
      numbers.push_back(*number);
    }
    return true;
  }

  // Texts of an IOInfo, of which the first is wanted.
  bool take_values(const WireField& field, std::string_view* values) const {
    if (field.type != WireType::kBytes) return false;
    for (std::string_view rest = field.payload; !rest.empty();) {
      const auto part = take_field(rest);
      if (!part) return false;
      if (part->number > chakra::IOInfo::kTypesFieldNumber) continue;
      std::string_view text;
      if (!take_text(*part, text)) return false;
      if (values != nullptr && part->number == chakra::IOInfo::kValuesFieldNumber) *values = text;
    }
    return true;
  }

  bool take_attribute(std::string_view message, AttributeView& attribute) const {
    for (std::string_view rest = message; !rest.empty();) {
      const auto field = take_field(rest);
      if (!field) return false;
      std::string_view doc_string;
      if (field->number == AttributeProto::kNameFieldNumber) {
        if (!take_text(*field, attribute.name)) return false;
      } else if (field->number == AttributeProto::kDocStringFieldNumber) {
        if (!take_text(*field, doc_string)) return false;
      } else if (is_value(field->number)) {
        if (attribute.has_value() || !take_value(*field, attribute)) return false;
      }
    }
    return is_trusted_ || !is_list(attribute) || !check_attribute(message);
  }

  bool take_value(const WireField& field, AttributeView& attribute) const {
    attribute.field = field.number;
    if (is_list(attribute)) {
      attribute.bytes = field.payload;
      return field.type == WireType::kBytes;
    }
    const ProtoField::Type type = element_type(field.number);
    if (field.type != wire_type_of(type)) return false;
    if (type == ProtoField::TYPE_STRING) return take_text(field, attribute.bytes);
    attribute.bytes = field.payload;
    attribute.number = field.type == WireType::kVarint ? field.value : bits_of(field.payload);
    return is_trusted_ || field.type != WireType::kVarint || fits_in(type, field.value);
  }

  bool is_trusted_;
  NodeView& node_;
  bool has_inputs_ = false, has_outputs_ = false;
};

}  // namespace

bool scan_node(std::string_view message, Scan scan, NodeView& node) {
  node.id = 0, node.type = 0, node.duration_micros = 0;
  node.name = {}, node.input_values = {};
  node.ctrl_deps.clear(), node.data_deps.clear(), node.attributes.clear();
  return Scanner(scan, node).scan(message);
}

void NodeBytes::assign(const chakra::Node& node) {
  bytes_.clear();
  node.AppendPartialToString(&bytes_);
  const bool is_whole = scan_node(bytes_, Scan::kTrusted, view_);
  ORRERY_ASSERT(is_whole);
}

bool is_list(const AttributeView& attribute) { return attribute.has_value() && attribute.field % 2 == 0; }

std::optional<std::int64_t> integer_of(const AttributeView& attribute) {
  if (!attribute.has_value() || is_list(attribute)) return std::nullopt;
  return visit_number(element_type(attribute.field), attribute.number, [](auto value) { return as_int64(value); });
}

std::optional<double> number_of(const AttributeView& attribute) {
  if (!attribute.has_value() || is_list(attribute)) return std::nullopt;
  return visit_number(element_type(attribute.field), attribute.number,
                      [](auto value) { return std::optional(static_cast<double>(value)); });
}

std::string_view kind_of(const AttributeView& attribute) {
  if (!attribute.has_value()) return "";
  std::string_view name = AttributeProto::descriptor()->FindFieldByNumber(static_cast<int>(attribute.field))->name();
  if (name.ends_with("_val")) name.remove_suffix(4);
  return name;
}

std::optional<std::vector<std::int64_t>> integers_of(const AttributeView& attribute) {
  const ProtoField::Type type = element_type(attribute.field);
  const WireType wire = wire_type_of(type);
  const bool is_real = type == ProtoField::TYPE_DOUBLE || type == ProtoField::TYPE_FLOAT;
  if (!is_list(attribute) || wire == WireType::kBytes || is_real) return std::nullopt;
  std::vector<std::int64_t> integers;
  const auto add = [&](std::uint64_t bits) {
    const auto integer = visit_number(type, bits, [](auto value) { return as_int64(value); });
    if (integer) integers.push_back(*integer);
    return integer.has_value();
  };
  const std::size_t width = wire == WireType::kFixed32 ? 4 : 8;
  for (std::string_view rest = attribute.bytes; !rest.empty();) {
    const auto field = take_field(rest);
    if (!field) return std::nullopt;
    if (field->number != 1) continue;
    if (field->type == wire) {
      if (!add(wire == WireType::kVarint ? field->value : bits_of(field->payload))) return std::nullopt;
      continue;
    }
    for (std::string_view packed = field->payload; !packed.empty();) {
      std::optional<std::uint64_t> bits;
      if (wire == WireType::kVarint) {
        bits = take_varint(packed);
      } else {
        bits = bits_of(packed.substr(0, width));
        packed.remove_prefix(std::min(width, packed.size()));
      }
      if (!bits || !add(*bits)) return std::nullopt;
    }
  }
  return integers;
}

bool same_value(const AttributeView& a, const AttributeView& b) {
  if (a.field != b.field) return false;
  if (a.bytes == b.bytes && a.number == b.number) return true;
  const auto first = integers_of(a), second = integers_of(b);  // a list can be written in two ways
  return first && second && first == second;
}

}  // namespace orrery::workload
