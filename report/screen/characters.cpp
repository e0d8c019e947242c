// SPDX-License-Identifier: MIT
// How many columns of a terminal a character takes.
#include <algorithm>
#include <array>

#include "report/screen/screen.h"

namespace orrery::report {
namespace {

struct Characters {
  char32_t first, last;
};
// Marks that stand on the character before, and signs that are not seen (Unicode's categories Mn, Me, Cf).
constexpr std::array kOfNoWidth = std::to_array<Characters>({{0x0300, 0x036F},
                                                             {0x0483, 0x0489},
                                                             {0x0591, 0x05BD},
                                                             {0x0610, 0x061A},
                                                             {0x064B, 0x065F},
                                                             {0x0E34, 0x0E3A},
                                                             {0x0E47, 0x0E4E},
                                                             {0x1AB0, 0x1AFF},
                                                             {0x1DC0, 0x1DFF},
                                                             {0x200B, 0x200F},
                                                             {0x20D0, 0x20FF},
                                                             {0xFE00, 0xFE0F},
                                                             {0xFE20, 0xFE2F}});
// Wide ones of East Asia, and emoji (Unicode's EastAsianWidth.txt: W and F).
constexpr std::array kOfTwoColumns = std::to_array<Characters>({{0x1100, 0x115F},
                                                                {0x2E80, 0x303E},
                                                                {0x3041, 0x4DBF},
                                                                {0x4E00, 0xA4CF},
                                                                {0xA960, 0xA97F},
                                                                {0xAC00, 0xD7A3},
                                                                {0xF900, 0xFAFF},
                                                                {0xFE30, 0xFE6F},
                                                                {0xFF01, 0xFF60},
                                                                {0xFFE0, 0xFFE6},
                                                                {0x1F300, 0x1F64F},
                                                                {0x1F680, 0x1F6FF},
                                                                {0x1F900, 0x1F9FF},
                                                                {0x20000, 0x3FFFD}});

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The character that begins there, of text that is UTF-8.
char32_t character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  char32_t character = first < 0x80U   ? first
                       : first < 0xE0U ? first & 0x1FU
                       : first < 0xF0U ? first & 0x0FU
                                       : first & 7U;
  for (++at; at < text.size() && is_continuation(text[at]); ++at)
    character = (character << 6U) | (static_cast<unsigned char>(text[at]) & 0x3FU);
  return character;
}

}  // namespace

std::size_t width_at(std::string_view text, std::size_t at) {
  if (is_continuation(text[at])) return 0;
  const char32_t character = character_at(text, at);
  const auto holds = [character](const Characters& some) { return some.first <= character && character <= some.last; };
  return std::ranges::any_of(kOfNoWidth, holds) ? 0 : std::ranges::any_of(kOfTwoColumns, holds) ? 2 : 1;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    width += static_cast<unsigned char>(text[at]) < 0x80U ? 1 : width_at(text, at);
  return width;
}

}  // namespace orrery::report
