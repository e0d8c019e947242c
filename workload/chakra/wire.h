// The protobuf wire format: tags, varints, length-delimited fields. Used to look at a message before libprotobuf sees
// it, because libprotobuf drops a field of the wrong wire type silently and cuts wide integers to 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// "varint", "64-bit", "length-delimited", "32-bit".
std::string_view name_of(WireType type);

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;   // of a varint
  std::string_view payload;  // the raw bytes of any other type
};

// Takes a varint off the front of `bytes`; nothing when it is cut short or longer than `max_length` bytes.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes, std::size_t max_length = 10) {
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

}  // namespace orrery
