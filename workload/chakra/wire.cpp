#include "workload/chakra/wire.h"

namespace orrery {

std::string_view name_of(WireType type) {
  switch (type) {
    case WireType::kVarint: return "varint";
    case WireType::kFixed64: return "64-bit";
    case WireType::kBytes: return "length-delimited";
    case WireType::kFixed32: return "32-bit";
  }
  return "unknown";
}

std::optional<WireField> take_field(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto tag = take_varint(rest, 5);
  if (!tag || *tag > 0xFFFFFFFFu || *tag < 8) return std::nullopt;

  WireField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  std::uint64_t length = 0;
  switch (*tag & 7) {
    case 0: {
      const auto value = take_varint(rest);
      if (!value) return std::nullopt;
      field.value = *value;
      bytes = rest;
      return field;
    }
    case 1: length = 8; break;
    case 2: {
      const auto declared = take_varint(rest);
      if (!declared) return std::nullopt;
      length = *declared;
      break;
    }
    case 5: length = 4; break;
    default: return std::nullopt;
  }
  if (length > rest.size()) return std::nullopt;
  field.type = static_cast<WireType>(*tag & 7);
  field.payload = rest.substr(0, static_cast<std::size_t>(length));
  bytes = rest.substr(static_cast<std::size_t>(length));
  return field;
}

}  // namespace orrery
