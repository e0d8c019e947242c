// SPDX-License-Identifier: MIT
#include "core/files/shell_word.h"

#include <algorithm>

#include "core/error.h"

namespace orrery {

std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kSigns = "._-+/:,=@%";
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kSigns.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_plain) ? std::string(text) : shell_quoted(text);
}

std::string shown_shell_word(std::string_view text, std::string_view instead) {
  constexpr std::size_t kMost = 500;
  constexpr std::string_view kReadBefore = "/dev/stdin";
  return text != kReadBefore && text.size() <= kMost && printable(text, kMost) == text ? shell_word(text)
                                                                                       : std::string(instead);
}

}  // namespace orrery
