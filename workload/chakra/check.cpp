#include "workload/chakra/check.h"

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "workload/chakra/utf8.h"
#include "workload/chakra/wire.h"

namespace orrery {
namespace {

enum class Shape : std::uint8_t {
  kInt64,
  kInt32,
  kUint32,
  kSint32,
  kBool,
  kFixed32,
  kFixed64,
  kText,
  kBytes,
  kMessage
};

struct Expected {
  std::string_view name;
  Shape shape = Shape::kInt64;
  bool repeated = false;
  std::span<const Expected> message = {};
};

// The fields of each message of chakra.proto, field n at index n - 1.
template <Shape shape>
constexpr std::array<Expected, 1> kList = {{{"values", shape, true}}};

constexpr std::array<Expected, 32> kAttribute = {{
    {"name", Shape::kText},
    {"doc_string", Shape::kText},
    {"double_val", Shape::kFixed64},
    {"double_list", Shape::kMessage, false, kList<Shape::kFixed64>},
    {"float_val", Shape::kFixed32},
    {"float_list", Shape::kMessage, false, kList<Shape::kFixed32>},
    {"int32_val", Shape::kInt32},
    {"int32_list", Shape::kMessage, false, kList<Shape::kInt32>},
    {"int64_val", Shape::kInt64},
    {"int64_list", Shape::kMessage, false, kList<Shape::kInt64>},
    {"uint32_val", Shape::kUint32},
    {"uint32_list", Shape::kMessage, false, kList<Shape::kUint32>},
    {"uint64_val", Shape::kInt64},
    {"uint64_list", Shape::kMessage, false, kList<Shape::kInt64>},
    {"sint32_val", Shape::kSint32},
    {"sint32_list", Shape::kMessage, false, kList<Shape::kSint32>},
    {"sint64_val", Shape::kInt64},
    {"sint64_list", Shape::kMessage, false, kList<Shape::kInt64>},
    {"fixed32_val", Shape::kFixed32},
    {"fixed32_list", Shape::kMessage, false, kList<Shape::kFixed32>},
    {"fixed64_val", Shape::kFixed64},
    {"fixed64_list", Shape::kMessage, false, kList<Shape::kFixed64>},
    {"sfixed32_val", Shape::kFixed32},
    {"sfixed32_list", Shape::kMessage, false, kList<Shape::kFixed32>},
    {"sfixed64_val", Shape::kFixed64},
    {"sfixed64_list", Shape::kMessage, false, kList<Shape::kFixed64>},
    {"bool_val", Shape::kBool},
    {"bool_list", Shape::kMessage, false, kList<Shape::kBool>},
    {"string_val", Shape::kText},
    {"string_list", Shape::kMessage, false, kList<Shape::kText>},
    {"bytes_val", Shape::kBytes},
    {"bytes_list", Shape::kMessage, false, kList<Shape::kBytes>},
}};

constexpr std::array<Expected, 3> kIoInfo = {
    {{"values", Shape::kText}, {"shapes", Shape::kText}, {"types", Shape::kText}}};

constexpr std::array<Expected, 2> kMetadata = {
    {{"version", Shape::kText}, {"attr", Shape::kMessage, true, kAttribute}}};

constexpr std::array<Expected, 10> kNode = {{
    {"id", Shape::kInt64},
    {"name", Shape::kText},
    {"type", Shape::kInt32},  // an enum is an int32
    {"ctrl_deps", Shape::kInt64, true},
    {"data_deps", Shape::kInt64, true},
    {"start_time_micros", Shape::kInt64},
    {"duration_micros", Shape::kInt64},
    {"inputs", Shape::kMessage, false, kIoInfo},
    {"outputs", Shape::kMessage, false, kIoInfo},
    {"attr", Shape::kMessage, true, kAttribute},
}};

constexpr WireType wire_type(Shape shape) {
  switch (shape) {
    case Shape::kFixed32: return WireType::kFixed32;
    case Shape::kFixed64: return WireType::kFixed64;
    case Shape::kText:
    case Shape::kBytes:
    case Shape::kMessage: return WireType::kBytes;
    default: return WireType::kVarint;
  }
}

// Whether a varint keeps its value in the field's type. A negative int32 is written as a 64-bit varint.
bool fits(Shape shape, std::uint64_t value) {
  const auto as_signed = static_cast<std::int64_t>(value);
  switch (shape) {
    case Shape::kInt32:
      return as_signed >= std::numeric_limits<std::int32_t>::min() &&
             as_signed <= std::numeric_limits<std::int32_t>::max();
    case Shape::kUint32:
    case Shape::kSint32: return value <= std::numeric_limits<std::uint32_t>::max();
    case Shape::kBool: return value <= 1;
    default: return true;
  }
}

constexpr std::string_view kOutOfRange = "is a number out of the range of its type";

class Checker {
 public:
  explicit Checker(std::string_view whole) : whole_(whole) {}

  std::optional<WireProblem> problem;

  // Recursion ends with the tables: Node, attr, list.
  bool check(std::span<const Expected> fields, std::string_view message) {
    while (!message.empty()) {
      const std::string_view before = message;
      const auto field = take_field(message);
      if (!field) return fail(before, "bytes that are no protobuf field");
      if (field->number > fields.size()) continue;
      const Expected& expected = fields[field->number - 1];
      if (check_field(expected, *field, before)) continue;
      return false;
    }
    return true;
  }

 private:
  bool check_field(const Expected& expected, const WireField& field, std::string_view at) {
    const WireType wanted = wire_type(expected.shape);
    if (field.type != wanted && expected.repeated && field.type == WireType::kBytes)
      return check_packed(expected, field, at);
    if (field.type != wanted)
      return fail(at, fmt::format("field {} ({}) is {}, expected {}", expected.name, field.number, name_of(field.type),
                                  name_of(wanted)));
    if (expected.shape == Shape::kMessage) return check(expected.message, field.payload) || in(expected.name);
    if (expected.shape == Shape::kText && !is_utf8(field.payload))
      return fail(at, fmt::format("field {} ({}) is text that is not UTF-8", expected.name, field.number));
    if (!fits(expected.shape, field.value))
      return fail(at, fmt::format("field {} ({}) {}", expected.name, field.number, kOutOfRange));
    return true;
  }

  bool check_packed(const Expected& expected, const WireField& field, std::string_view at) {
    std::string_view rest = field.payload;
    if (wire_type(expected.shape) != WireType::kVarint) {
      const std::size_t width = expected.shape == Shape::kFixed32 ? 4 : 8;
      if (rest.size() % width == 0) return true;
      return fail(at, fmt::format("field {} ({}) holds {} bytes, expected a multiple of {}", expected.name,
                                  field.number, rest.size(), width));
    }
    while (!rest.empty()) {
      const auto value = take_varint(rest);
      if (!value) return fail(at, fmt::format("field {} ({}) is no list of numbers", expected.name, field.number));
      if (fits(expected.shape, *value)) continue;
      return fail(at, fmt::format("field {} ({}) {}", expected.name, field.number, kOutOfRange));
    }
    return true;
  }

  bool fail(std::string_view at, std::string text) {
    problem = WireProblem{static_cast<std::size_t>(at.data() - whole_.data()), std::move(text)};
    return false;
  }

  // Says which field the problem is in, from the inside out.
  bool in(std::string_view name) {
    problem->text = fmt::format("in {}: {}", name, problem->text);
    return false;
  }

  std::string_view whole_;
};

std::optional<WireProblem> run(std::span<const Expected> fields, std::string_view message) {
  Checker checker(message);
  checker.check(fields, message);
  return std::move(checker.problem);
}

}  // namespace

std::optional<WireProblem> check_node(std::string_view message) { return run(kNode, message); }

std::optional<WireProblem> check_metadata(std::string_view message) { return run(kMetadata, message); }

bool has_metadata_shape(std::string_view message) {
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field || field->number > 2 || field->type != WireType::kBytes) return false;
  }
  return true;
}

bool is_stray_metadata(std::string_view message) {
  // A node of nothing but a name is conceivable; one whose name is an attribute with a name is not.
  if (message.empty() || message[0] != '\x12' || !has_metadata_shape(message) || check_metadata(message)) return false;
  while (!message.empty()) {
    const auto field = take_field(message);
    if (field->number == 2 && !field->payload.starts_with('\x0A')) return false;
  }
  return true;
}

}  // namespace orrery
