// SPDX-License-Identifier: MIT
#include "workload/chakra/wire.h"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/assert.h"
#include "core/utf8.h"
#include "workload/chakra/chakra.pb.h"

namespace orrery::workload {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string_view name_of(WireType type) {
  switch (type) {
    case WireType::kVarint:
      return "varint";
    case WireType::kFixed64:
      return "64-bit";
    case WireType::kBytes:
      return "length-delimited";
    case WireType::kFixed32:
      return "32-bit";
  }
  return "unknown";
}

// A field as the schema has it. Descriptors are too slow to be asked for every field of every node.
struct Expected {
  const FieldDescriptor* field = nullptr;
  FieldDescriptor::Type type = FieldDescriptor::TYPE_INT64;
  WireType wire = WireType::kVarint;
  bool is_packable = false;
  std::vector<Expected> message;  // the fields of a message
};

// Field n at index n - 1.
std::vector<Expected> fields_of(const Descriptor& message) {
  using Lite = google::protobuf::internal::WireFormatLite;
  std::vector<Expected> fields;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.FindFieldByNumber(i + 1);
    ORRERY_ASSERT(field != nullptr);
    const auto wire = Lite::WireTypeForFieldType(static_cast<Lite::FieldType>(field->type()));
    fields.push_back({field, field->type(), static_cast<WireType>(wire), field->is_packable(), {}});
    if (field->message_type() != nullptr) fields.back().message = fields_of(*field->message_type());
  }
  return fields;
}

class Checker {
 public:
  explicit Checker(std::string_view whole) : whole_(whole) {}

  std::optional<WireProblem> problem;

  // Recursion ends with the schema: Node, attr, list.
  bool check(std::span<const Expected> fields, std::string_view message) {
    while (!message.empty()) {
      const std::string_view before = message;
      const auto field = take_field(message);
      if (!field) return fail(before, "bytes that are not a protobuf field");
      if (field->number <= fields.size() && !check_field(fields[field->number - 1], *field, before)) return false;
    }
    return true;
  }

 private:
  bool check_field(const Expected& expected, const WireField& field, std::string_view at) {
    if (field.type == expected.wire) {
      switch (expected.type) {
        case FieldDescriptor::TYPE_MESSAGE:
          return check(expected.message, field.payload) || in(expected);
        case FieldDescriptor::TYPE_STRING:
          return is_utf8(field.payload) || fail(at, expected, "is text that is not UTF-8");
        default:
          return check_range(expected, field.value, at);
      }
    }
    if (field.type == WireType::kBytes && expected.is_packable) return check_packed(expected, field.payload, at);
    return fail(at, expected, fmt::format("is {}, expected {}", name_of(field.type), name_of(expected.wire)));
  }

  bool check_packed(const Expected& expected, std::string_view rest, std::string_view at) {
    const std::size_t width = expected.wire == WireType::kFixed32 ? 4 : expected.wire == WireType::kFixed64 ? 8 : 1;
    if (rest.size() % width != 0)
      return fail(at, expected, fmt::format("holds {} bytes, expected a multiple of {}", rest.size(), width));
    while (width == 1 && !rest.empty()) {
      const auto value = take_varint(rest);
      if (!value) return fail(at, expected, "is not a list of numbers");
      if (!check_range(expected, *value, at)) return false;
    }
    return true;
  }

  bool check_range(const Expected& expected, std::uint64_t value, std::string_view at) {
    return fits_in(expected.type, value) || fail(at, expected, "is a number out of the range of its type");
  }

  bool fail(std::string_view at, const Expected& expected, std::string_view what) {
    return fail(at, fmt::format("field {} ({}) {}", expected.field->name(), expected.field->number(), what));
  }

  bool fail(std::string_view at, std::string text) {
    problem = WireProblem{static_cast<std::size_t>(at.data() - whole_.data()), std::move(text)};
    return false;
  }

  // Says which field the problem is in, from the inside out.
  bool in(const Expected& expected) {
    problem->text = fmt::format("in {}: {}", expected.field->name(), problem->text);
    return false;
  }

  std::string_view whole_;
};

std::optional<WireProblem> problem_of(std::span<const Expected> fields, std::string_view message) {
  Checker checker(message);
  checker.check(fields, message);
  return std::move(checker.problem);
}

}  // namespace

std::optional<WireField> take_field(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto tag = take_varint(rest, 5);
  if (!tag || *tag > 0xFFFFFFFFu || *tag < 8) return std::nullopt;

  WireField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  std::uint64_t length = 0;
  if (field.type == WireType::kVarint || field.type == WireType::kBytes) {
    const auto value = take_varint(rest);
    if (!value) return std::nullopt;
    if (field.type == WireType::kVarint) {
      field.value = *value;
      bytes = rest;
      return field;
    }
    length = *value;
  } else if (field.type == WireType::kFixed64 || field.type == WireType::kFixed32) {
    length = field.type == WireType::kFixed64 ? 8 : 4;
  } else {
    return std::nullopt;
  }
  if (length > rest.size()) return std::nullopt;
  field.payload = {rest.data(), static_cast<std::size_t>(length)};
  rest.remove_prefix(field.payload.size());
  bytes = rest;
  return field;
}

std::optional<std::string_view> take_frame(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto length = take_varint(rest, kLengthBytes);
  if (!length || *length > rest.size()) return std::nullopt;
  const std::string_view message = rest.substr(0, static_cast<std::size_t>(*length));
  bytes = rest.substr(message.size());
  return message;
}

std::optional<WireProblem> check_node(std::string_view message) {
  static const std::vector<Expected> fields = fields_of(*chakra::Node::descriptor());
  return problem_of(fields, message);
}

std::optional<WireProblem> check_metadata(std::string_view message) {
  static const std::vector<Expected> fields = fields_of(*chakra::GlobalMetadata::descriptor());
  return problem_of(fields, message);
}

std::optional<WireProblem> check_attribute(std::string_view message) {
  static const std::vector<Expected> fields = fields_of(*chakra::AttributeProto::descriptor());
  return problem_of(fields, message);
}

bool fits_in(FieldDescriptor::Type type, std::uint64_t value) {
  switch (type) {
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_ENUM:
      return std::in_range<std::int32_t>(static_cast<std::int64_t>(value));
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_SINT32:
      return value <= std::numeric_limits<std::uint32_t>::max();
    case FieldDescriptor::TYPE_BOOL:
      return value <= 1;
    default:
      return true;
  }
}

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

}  // namespace orrery::workload
