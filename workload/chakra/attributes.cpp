// SPDX-License-Identifier: MIT
#include "workload/chakra/attributes.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::workload {
namespace {

using chakra::AttributeProto;
using google::protobuf::FieldDescriptor;

bool has_value(const AttributeProto& attribute) { return attribute.value_case() != AttributeProto::VALUE_NOT_SET; }

// The signed 64-bit value of a number, if it has one. As a double, -2^63 is the smallest, 2^63 is too large.
template <class Value>
std::optional<std::int64_t> as_integer(const Value& value) {
  bool fits = false;
  if constexpr (std::is_floating_point_v<Value>)
    fits = value >= -0x1p63 && value < 0x1p63 && value == std::floor(value);
  if constexpr (std::is_integral_v<Value>)
    fits = std::is_signed_v<Value> || static_cast<std::uint64_t>(value) <= std::uint64_t{INT64_MAX};
  if constexpr (std::is_arithmetic_v<Value>)
    if (fits) return static_cast<std::int64_t>(value);
  return std::nullopt;
}

bool is_list(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

// Nothing when it is no list of bools or integers that are 0 or 1.
std::optional<std::vector<bool>> flags_of(const AttributeView& a) {
  const std::optional<std::vector<std::int64_t>> integers = integers_of(a);
  if (!integers) return std::nullopt;
  std::vector<bool> flags;
  for (const std::int64_t flag : *integers) {
    if (flag != 0 && flag != 1) return std::nullopt;
    flags.push_back(flag == 1);
  }
  return flags;
}

bool is_text(const AttributeView& a) { return a.field == AttributeProto::kStringVal; }

// "string \"12\"", "double 0.5", "int64_list": what an error says was found.
std::string found(const AttributeView& a) {
  const std::string kind(kind_of(a));
  if (is_text(a)) return fmt::format("{} \"{}\"", kind, printable(a.bytes, 40));
  if (a.field == AttributeProto::kUint64Val || a.field == AttributeProto::kFixed64Val)
    return fmt::format("{} {}", kind, a.number);
  if (const auto integer = integer_of(a)) return fmt::format("{} {}", kind, *integer);
  if (const auto number = number_of(a)) return fmt::format("{} {}", kind, *number);
  return "a " + kind;
}

}  // namespace

const FieldDescriptor* value_field(const AttributeProto& attribute) {
  return has_value(attribute) ? AttributeProto::descriptor()->FindFieldByNumber(attribute.value_case()) : nullptr;
}

std::optional<std::int64_t> integer_of(const AttributeProto& a) {
  // Nearly all of a trace's numbers are of these kinds; reflection takes several times as long.
  if (a.value_case() == AttributeProto::kInt64Val) return a.int64_val();
  if (a.value_case() == AttributeProto::kUint64Val) return as_integer(a.uint64_val());
  if (a.value_case() == AttributeProto::kInt32Val) return a.int32_val();
  const FieldDescriptor* field = value_field(a);
  if (field == nullptr || is_list(*field)) return std::nullopt;
  return visit_value(a, *field, -1, [](const auto& value) { return as_integer(value); });
}

std::string_view kind_of(const AttributeProto& attribute) {
  const FieldDescriptor* field = value_field(attribute);
  if (field == nullptr) return "";
  std::string_view name = field->name();
  if (name.ends_with("_val")) name.remove_suffix(4);
  return name;
}

std::string describe(const chakra::Node& node) {
  return fmt::format("node {} \"{}\"", node.id(), printable(node.name()));
}

std::string describe(const NodeView& node) { return fmt::format("node {} \"{}\"", node.id, printable(node.name)); }

const AttributeView* ChakraAttributes::find(std::string_view name) const {
  const AttributeView* first = nullptr;
  for (const AttributeView& attribute : node_->attributes) {
    if (attribute.name != name || !attribute.has_value()) continue;
    if (first == nullptr) {
      first = &attribute;
    } else if (!same_value(*first, attribute)) {
      fail(name, fmt::format("given twice, as {} and as {}", found(*first), found(attribute)), "one value");
    }
  }
  return first;
}

template <class Convert>
auto ChakraAttributes::read(std::string_view name, std::string_view expected, Convert convert) const
    -> decltype(convert(std::declval<const AttributeView&>())) {
  const AttributeView* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  if (auto value = convert(*attribute)) return value;
  fail(name, found(*attribute), expected);
}

std::optional<std::int64_t> ChakraAttributes::integer(std::string_view name) const {
  return read(name, "an integer of at most 64 signed bits", [](const AttributeView& a) { return integer_of(a); });
}

std::optional<double> ChakraAttributes::number(std::string_view name) const {
  return read(name, "a finite number", [](const AttributeView& a) {
    const auto value = number_of(a);
    return value && std::isfinite(*value) ? value : std::nullopt;
  });
}

std::optional<bool> ChakraAttributes::flag(std::string_view name) const {
  return read(name, "a bool, 0 or 1", [](const AttributeView& a) {
    const auto value = integer_of(a);
    return value == 0 || value == 1 ? std::optional(value == 1) : std::nullopt;
  });
}

std::optional<std::vector<bool>> ChakraAttributes::flags(std::string_view name) const {
  return read(name, "a list of bools, or of integers that are 0 or 1", flags_of);
}

std::optional<std::string_view> ChakraAttributes::text(std::string_view name) const {
  return read(name, "a string",
              [](const AttributeView& a) { return is_text(a) ? std::optional(a.bytes) : std::nullopt; });
}

std::optional<std::string> ChakraAttributes::label(std::string_view name) const {
  return read(name, "a string or an integer", [](const AttributeView& a) -> std::optional<std::string> {
    if (is_text(a)) return std::string(a.bytes);
    const auto value = integer_of(a);
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  });
}

void ChakraAttributes::fail(std::string_view name, const std::string& what, std::string_view expected) const {
  throw InputError({file_}, fmt::format("{}: attribute {} is {}, expected {}", describe(*node_), name, what, expected));
}

}  // namespace orrery::workload
