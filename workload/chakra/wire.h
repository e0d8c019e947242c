// SPDX-License-Identifier: MIT
// A message as the bytes it is, before libprotobuf sees it: libprotobuf alone would turn a field of another wire type
// into "absent", cut a wide integer to 32 bits, log to stderr about text that is not UTF-8, and read the old schemas
// without an error into wrong values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>

namespace orrery::workload {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;   // of a varint
  std::string_view payload;  // the raw bytes of any other type

  bool operator==(const WireField&) const = default;
};

inline constexpr std::size_t kLengthBytes = 5;  // a frame's length is a varint of 32 bits

// Takes a varint off the front of `bytes`; nothing when it is cut short or longer than `max_length` bytes.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes, std::size_t max_length = 10) {
  // Most have one byte.
  if (!bytes.empty() && static_cast<unsigned char>(bytes[0]) < 0x80) {
    const auto value = static_cast<std::uint64_t>(bytes[0]);
    bytes.remove_prefix(1);
    return value;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < max_length; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == 9 && byte > 1) return std::nullopt;  // beyond 64 bits
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// Takes a field off the front of a message. Nothing when it is malformed; then `bytes` is where it was. Groups (wire
// types 3 and 4) count as malformed: proto3 has none.
std::optional<WireField> take_field(std::string_view& bytes);

// Takes a message and the length in front of it off the front of a file. Nothing where that is cut short.
std::optional<std::string_view> take_frame(std::string_view& bytes);

struct WireProblem {
  std::size_t offset = 0;  // in the message
  std::string text;        // "field attr.int32_val (7) is ..., expected ..."
};

// Check of a message against schema 0.0.4, field by field. Unknown fields are fine.
std::optional<WireProblem> check_node(std::string_view message);
std::optional<WireProblem> check_metadata(std::string_view message);
std::optional<WireProblem> check_attribute(std::string_view message);
// True if a varint keeps its value in a field of this type. A negative int32 is written as a 64-bit varint.
bool fits_in(google::protobuf::FieldDescriptor::Type type, std::uint64_t value);

// True if every field is length-delimited and numbered 1 or 2, as in GlobalMetadata (and in the empty message).
bool has_metadata_shape(std::string_view message);

// True if a message in the place of a node is a metadata frame with attributes: two traces were concatenated.
bool is_stray_metadata(std::string_view message);

// The name of the old schema the frames are of ("0.0.1", "0.0.2", "0.0.3", "0.0.3 (with uint attributes)", or a choice
// of them); "" for the current one or when nothing speaks against it. `frames` are the first messages of a file,
// metadata included; a few hundred are plenty.
std::string old_schema(std::span<const std::string_view> frames);

}  // namespace orrery::workload
