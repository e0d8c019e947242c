#include "workload/chakra/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orrery {
namespace {

// Length of the well-formed sequence that starts with a byte of 0x80 or more; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_high = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_high ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::uint64_t eight = 0;
    while (text.size() >= sizeof eight) {
      std::memcpy(&eight, text.data(), sizeof eight);
      if ((eight & 0x8080808080808080ULL) != 0) break;
      text.remove_prefix(sizeof eight);
    }
    if (text.empty()) return true;
    const std::size_t length = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace orrery
