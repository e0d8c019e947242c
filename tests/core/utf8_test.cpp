// SPDX-License-Identifier: MIT
#include "core/utf8.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace orrery;

namespace {

// The bits of `code` in `length` bytes, whether or not that is their shortest form.
std::string in_bytes(std::uint32_t code, std::size_t length) {
  constexpr std::uint32_t kFirst[] = {0, 0, 0xC0, 0xE0, 0xF0};
  std::string text(length, ' ');
  for (std::size_t i = length - 1; i > 0; --i, code >>= 6) text[i] = static_cast<char>(0x80 | (code & 0x3F));
  text[0] = static_cast<char>(kFirst[length] | code);
  return text;
}

std::size_t shortest(std::uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

bool is_surrogate(std::uint32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

// Offset of the first byte at which no well-formed sequence begins, character by character.
std::size_t first_malformed(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace

TEST_CASE("every code point is well-formed in its shortest form alone, and surrogates in none") {
  std::vector<std::uint32_t> wrong;
  for (std::uint32_t code = 0; code < 0x200000; ++code)
    for (std::size_t length = shortest(code); length <= 4; ++length) {
      const bool is_good = length == shortest(code) && !is_surrogate(code) && code <= 0x10FFFF;
      if (utf8_length(in_bytes(code, length)) != (is_good ? length : 0)) wrong.push_back(code);
    }
  CHECK(wrong.empty());
  CHECK(utf8_length("\xC0\x80") == 0);
  CHECK(utf8_length("\xC1\xBF") == 0);
}

TEST_CASE("a sequence that is cut off or goes on with another byte is malformed") {
  for (const std::uint32_t code : {0xE9U, 0x20ACU, 0x1F600U}) {
    const std::string whole = in_bytes(code, shortest(code));
    for (std::size_t length = 1; length < whole.size(); ++length) {
      CHECK(utf8_length(whole.substr(0, length)) == 0);
      for (const char other : {'\x00', '\x7F', '\xC0', '\xFF'}) {
        std::string changed = whole;
        changed[length] = other;
        CHECK(utf8_length(changed) == 0);
      }
    }
  }
  for (const char* first : {"\x80", "\xBF", "\xF8", "\xFF"}) CHECK(utf8_length(first + std::string(5, '\x80')) == 0);
}

TEST_CASE("text is well-formed if each of its characters is, wherever it stands between others") {
  for (std::size_t before = 0; before < 20; ++before)
    for (std::size_t behind = 0; behind < 20; ++behind)
      for (const char* part :
           {"", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\x80", "\xC3", "\xE2\x82", "\xED\xA0\x80"}) {
        const std::string text = std::string(before, 'a') + part + std::string(behind, 'b');
        CHECK(is_utf8(text) == (first_malformed(text) == std::string_view::npos));
        CHECK(first_non_text(text) == first_malformed(text));
      }
}

TEST_CASE("of the characters of ASCII, text has all but control characters other than tabs and ends of lines") {
  for (int code = 0; code < 0x80; ++code) {
    const std::string text = {'a', static_cast<char>(code), 'b'};
    const bool is_control = code < 0x20 || code == 0x7F;
    const bool is_space = code == '\t' || code == '\n' || code == '\r';
    CHECK(first_non_text(text) == (is_control && !is_space ? 1 : std::string_view::npos));
    CHECK(is_utf8(text));
  }
}
