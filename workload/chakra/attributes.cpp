#include "workload/chakra/attributes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery {
namespace {

using chakra::AttributeProto;

bool has_value(const AttributeProto& attribute) { return attribute.value_case() != AttributeProto::VALUE_NOT_SET; }

bool same_value(const AttributeProto& a, const AttributeProto& b) {
  // Equal bits count as equal, NaN included; the doc string does not matter.
  AttributeProto left = a;
  AttributeProto right = b;
  left.clear_doc_string();
  right.clear_doc_string();
  return left.SerializeAsString() == right.SerializeAsString();
}

// The signed 64-bit value of an integral double, if it has one. -2^63 is the smallest, 2^63 is too large.
std::optional<std::int64_t> integral(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> in_range(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Nothing when it is no list of bools or integers. What does not fit 64 bits becomes -1.
std::optional<std::vector<std::int64_t>> integers_of(const AttributeProto& a) {
  const auto all = [](const auto& list) {
    std::vector<std::int64_t> numbers;
    for (const auto value : list.values())
      numbers.push_back(
          std::in_range<std::int64_t>(static_cast<std::uint64_t>(value)) ? static_cast<std::int64_t>(value) : -1);
    return numbers;
  };
  switch (a.value_case()) {
    case AttributeProto::kBoolList:
      return all(a.bool_list());
    case AttributeProto::kInt32List:
      return all(a.int32_list());
    case AttributeProto::kInt64List:
      return all(a.int64_list());
    case AttributeProto::kUint32List:
      return all(a.uint32_list());
    case AttributeProto::kUint64List:
      return all(a.uint64_list());
    case AttributeProto::kSint32List:
      return all(a.sint32_list());
    case AttributeProto::kSint64List:
      return all(a.sint64_list());
    default:
      return std::nullopt;
  }
}

std::optional<double> number_of(const AttributeProto& a) {
  switch (a.value_case()) {
    case AttributeProto::kDoubleVal:
      return a.double_val();
    case AttributeProto::kFloatVal:
      return static_cast<double>(a.float_val());
    case AttributeProto::kUint64Val:
      return static_cast<double>(a.uint64_val());
    case AttributeProto::kFixed64Val:
      return static_cast<double>(a.fixed64_val());
    default:
      break;
  }
  const auto integer = integer_of(a);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

// "string \"12\"", "double 0.5", "int64_list": what an error says was found.
std::string found(const AttributeProto& a) {
  const std::string kind(kind_of(a));
  switch (a.value_case()) {
    case AttributeProto::kStringVal:
      return fmt::format("{} \"{}\"", kind, printable(a.string_val(), 40));
    case AttributeProto::kUint64Val:
      return fmt::format("{} {}", kind, a.uint64_val());
    case AttributeProto::kFixed64Val:
      return fmt::format("{} {}", kind, a.fixed64_val());
    default:
      break;
  }
  if (const auto integer = integer_of(a)) return fmt::format("{} {}", kind, *integer);
  if (const auto number = number_of(a)) return fmt::format("{} {}", kind, *number);
  return "a " + kind;
}

}  // namespace

std::optional<std::int64_t> integer_of(const AttributeProto& a) {
  switch (a.value_case()) {
    case AttributeProto::kDoubleVal:
      return integral(a.double_val());
    case AttributeProto::kFloatVal:
      return integral(static_cast<double>(a.float_val()));
    case AttributeProto::kInt32Val:
      return a.int32_val();
    case AttributeProto::kInt64Val:
      return a.int64_val();
    case AttributeProto::kUint32Val:
      return a.uint32_val();
    case AttributeProto::kUint64Val:
      return in_range(a.uint64_val());
    case AttributeProto::kSint32Val:
      return a.sint32_val();
    case AttributeProto::kSint64Val:
      return a.sint64_val();
    case AttributeProto::kFixed32Val:
      return a.fixed32_val();
    case AttributeProto::kFixed64Val:
      return in_range(a.fixed64_val());
    case AttributeProto::kSfixed32Val:
      return a.sfixed32_val();
    case AttributeProto::kSfixed64Val:
      return a.sfixed64_val();
    case AttributeProto::kBoolVal:
      return a.bool_val() ? 1 : 0;
    default:
      return std::nullopt;
  }
}

std::string_view kind_of(const AttributeProto& attribute) {
  if (!has_value(attribute)) return "";
  const auto* field = AttributeProto::descriptor()->FindFieldByNumber(attribute.value_case());
  std::string_view name = field->name();
  if (name.ends_with("_val")) name.remove_suffix(4);
  return name;
}

std::string describe(const chakra::Node& node) {
  return fmt::format("node {} \"{}\"", node.id(), printable(node.name()));
}

const AttributeProto* ChakraAttributes::find(std::string_view name) const {
  const AttributeProto* first = nullptr;
  for (const AttributeProto& attribute : node_.attr()) {
    if (attribute.name() != name || !has_value(attribute)) continue;
    if (first == nullptr) {
      first = &attribute;
    } else if (!same_value(*first, attribute)) {
      fail(name, fmt::format("given twice, as {} and as {}", found(*first), found(attribute)), "one value");
    }
  }
  return first;
}

std::optional<std::int64_t> ChakraAttributes::integer(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  if (const auto value = integer_of(*attribute)) return value;
  fail(name, found(*attribute), "an integer of at most 64 signed bits");
}

std::optional<double> ChakraAttributes::number(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  const auto value = number_of(*attribute);
  if (value && std::isfinite(*value)) return value;
  fail(name, found(*attribute), "a finite number");
}

std::optional<bool> ChakraAttributes::flag(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  const auto value = integer_of(*attribute);
  if (value == 0 || value == 1) return value == 1;
  fail(name, found(*attribute), "a bool, 0 or 1");
}

std::optional<std::vector<bool>> ChakraAttributes::flags(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  const auto numbers = integers_of(*attribute);
  if (!numbers || std::ranges::any_of(*numbers, [](std::int64_t number) { return number != 0 && number != 1; }))
    fail(name, found(*attribute), "a list of bools, or of integers that are 0 or 1");
  return std::vector<bool>(numbers->begin(), numbers->end());
}

std::optional<std::string_view> ChakraAttributes::text(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->value_case() == AttributeProto::kStringVal) return attribute->string_val();
  fail(name, found(*attribute), "a string");
}

std::optional<std::string> ChakraAttributes::label(std::string_view name) const {
  const AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->value_case() == AttributeProto::kStringVal) return attribute->string_val();
  if (const auto value = integer_of(*attribute)) return std::to_string(*value);
  fail(name, found(*attribute), "a string or an integer");
}

void ChakraAttributes::fail(std::string_view name, const std::string& what, std::string_view expected) const {
  throw InputError({file_}, fmt::format("{}: attribute {} is {}, expected {}", describe(node_), name, what, expected));
}

}  // namespace orrery
